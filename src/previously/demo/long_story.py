"""A deterministic generator of long role-play stories, for benchmarks and demonstrations.

`generate_story(100_000)` yields one message after another in the shape of a chat log: `role`, `name` and `content`. The
story is small talk with a memory: scenes have a place, a day and a matter in hand; promises and debts are made, kept in
a short list, and settled or broken many messages later; the cast changes slowly as people leave town and others arrive.
The text is put together from sentence templates, so it costs almost nothing to make and never holds more than a few
scenes' worth of state. The same seed gives the same story, and a longer story begins with the shorter one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from previously.text.numbers import name_number

PLAYER = "Tess Arlow"
_NARRATOR = "Narrator"
_COUNTS = (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 3, 3, 4)  # sentences of speech in a message


def _split(text: str) -> tuple[str, ...]:
    """The parts of a text that has bars between them; how its lines are broken does not matter."""
    return tuple(" ".join(text.split()).split(" | "))


_SHE = "Adela Brisa Corra Dagny Edda Fenna Gisla Hedda Ilka Jorun Kaia Linnet Merle Nessa Orsa Petra".split()
_HE = "Alric Bastian Conrad Dunstan Emeric Falk Gregor Hob Ivo Jasper Klaus Lorn Matthias Ned Osgood".split()
_SURNAMES = """Ashby Birch Calder Drummond Estwick Farrow Garrick Holloway Ingram Jessop Kestrel Larch Mallory
    Norcott Oakes Pembry Quayle Rushworth Stroud Thackeray Underhill Vesper Wainwright Yarrow""".split()
_ADJECTIVES = """old small heavy painted borrowed crooked black green plain red stolen scratched missing blue
    polished dirty foreign curious gilded forged cheap ugly white unlucky""".split()
_NOUNS = """lantern key ledger compass bottle letter map ring whistle box mirror knife bell purse hammer flute
    candlestick glove medal spyglass locket thimble inkwell snuffbox buckle comb pistol spoon watch""".split()
_NUMBERS = [name_number(value) for value in (*range(2, 13), 15, 18, 20, 30)]
_HOURS = [name_number(value) for value in range(1, 12)]
_PARTS = ("", "half past ", "a quarter to ", "ten past ")

_POOLS: dict[str, tuple[str, ...]] = {
    "thing": tuple(f"{a} {n}" for a in _ADJECTIVES for n in _NOUNS),
    "a_thing": tuple(f"{'an' if a[0] in 'aeiou' else 'a'} {a} {n}" for a in _ADJECTIVES for n in _NOUNS),
    "hour": tuple(part + hour for part in _PARTS for hour in _HOURS),
    "price": tuple(f"{n} crowns" for n in range(3, 180))
    + tuple(f"{n} crowns and {p} pence" for n in range(2, 40) for p in (3, 4, 6, 8, 11)),
    "number": tuple(_NUMBERS),
    "number_cap": tuple(n.capitalize() for n in _NUMBERS),
    "dust": ("rain", "dust", "flour", "snow", "sawdust", "soot"),
    "place": _split("""
        the Salt Stairs | the old mill | the Weir House | Cooper's Yard | the east gate | the toll bridge |
        Lantern Lane | the ferry landing | the Blue Heron | St. Cedd's | the tannery | Market Cross |
        Goose Green | the upper lock | the drowned orchard | Needle Court | the post office |
        the apothecary's | the ice pond | the rope store | the schoolhouse | the charcoal kilns |
        the burnt granary | Thimble Row | the dovecote | the quarry steps | the watch house |
        the brickworks | Hangman's Ford | the signal tower"""),
    "weather": _split("""
        rain | a thin fog | a warm wind from the south | sleet | a hard frost | thunder over the hills |
        hail | a dry heat | the first snow | drizzle | a cold haze | a wind that lifts the tiles |
        a fine grey mist"""),
    "manner": _split("""
        quietly | without looking up | after a moment | with half a smile | rather too quickly |
        with a shrug | in a low voice | with great care | as if it did not matter | between two coughs |
        for the second time"""),
    "sign": _split("""
        mud on the boards | a fresh scratch on the lock | ink on the latch | a smell of lamp oil |
        a wet footprint | blood on the sill | no dust at all | a name cut into the wood | a torn ticket |
        the wrong date on the seal"""),
    "tail": _split("""
        and nobody thought it odd | or so I was told | and I can prove it | whatever the neighbours say |
        whatever the priest says | though I would deny it | and I have the receipt |
        as my sister likes to say | and it keeps me awake | if the baker is to be believed |
        and I am tired of pretending otherwise"""),
    "errand": _split("""
        carry the %(thing)s to %(place)s | mend the roof of %(place)s | bring %(cast)s the %(thing)s |
        find out who sold the %(thing)s | pay %(cast)s back every penny of %(price)s |
        teach %(cast)s to read the tide tables | have %(number)s sacks of flour waiting at %(place)s |
        return the %(thing)s to %(cast)s | buy back the %(thing)s for %(price)s |
        take %(cast)s to see %(place)s | dig the well at %(place)s down to %(number)s fathoms |
        bury the %(thing)s behind %(place)s"""),
}

_SAY = _split("""
    I saw %(cast)s at %(place)s at %(hour)s, with the %(thing)s under one arm and no explanation. |
    Whoever left the %(thing)s at %(place)s wanted it found before %(hour)s. |
    They asked %(price)s for the %(thing)s, %(tail)s. | %(cast)s lied about the %(thing)s, %(tail)s. |
    It is %(number)s miles to %(place)s, and I am not walking them twice. |
    You never told me that %(cast)s had been living at %(place)s. |
    If %(cast)s asks, we were at %(place)s until %(hour)s and saw nothing but %(weather)s. |
    There were %(number)s of us at %(place)s that night, %(tail)s. |
    I would trust %(cast)s with my life, but not with %(price)s. |
    Look here: %(sign)s, and %(sign)s besides. |
    The %(thing)s is a copy; the real one went to %(place)s in spring, %(tail)s. |
    I counted %(number)s windows lit at %(place)s, and that house has been empty for %(number)s years. |
    My mother kept %(a_thing)s just like it, and she swore it came from %(place)s. |
    Do you want the short answer, or the one that costs %(price)s? |
    Nobody goes to %(place)s after %(hour)s without something to hide, %(tail)s. |
    Give me until %(hour)s, and I will know who took the %(matter)s. |
    The %(matter)s was never lost; someone has been moving it from %(place)s to %(place)s. |
    Forget the %(matter)s for a moment and tell me about %(cast)s. |
    We are %(price)s short, and the rent falls due on day %(soon)s. |
    I found %(sign)s at %(place)s, and I do not like what it means. |
    Someone paid %(price)s to make sure that I would not be at %(place)s. |
    What would %(cast)s want with %(a_thing)s and %(number)s yards of rope? |
    Meet me at %(place)s at %(hour)s, and bring the %(thing)s. |
    You can sleep at %(place)s tonight; the key is under the %(thing)s. |
    I have been wrong about %(cast)s before, %(tail)s. | Last winter %(a_thing)s cost %(price)s, %(tail)s. |
    Either the %(matter)s is cursed or %(cast)s is careless, and I know which I would bet on. |
    %(cast)s came to %(place)s on foot through %(weather)s, %(tail)s. |
    The answer is at %(place)s, %(tail)s. |
    That is not the bell of %(place)s; that one has been broken since day %(past)s.""")
_SHORT = _split("""
    Not at %(place)s before %(hour)s, %(cast)s says. | %(price)s for the %(thing)s, and not a penny more. |
    At %(place)s, then, with %(cast)s, by %(hour)s. | Ask %(cast)s about the %(thing)s at %(place)s. |
    You mean the %(thing)s from %(place)s? | %(cast)s has the %(thing)s. | The %(thing)s costs %(price)s. |
    I thought %(cast)s had hidden the %(thing)s at %(place)s.""")
_ACT = _split("""
    %(first)s points %(manner)s: %(sign)s, right beside the %(thing)s. |
    %(first)s answers %(manner)s, one eye on the door. |
    %(first)s puts %(price)s on the table, coin by coin. |
    %(first)s shakes the %(dust)s off %(his)s sleeves and sits down by the %(thing)s. |
    %(first)s draws a map of %(place)s with a wet finger. |
    %(first)s counts to %(number)s before %(he)s speaks. |
    %(first)s looks toward %(place)s and says nothing for a while. |
    %(first)s laughs %(manner)s and pushes the %(thing)s across the table. |
    %(first)s lowers %(his)s voice when somebody passes with %(a_thing)s. |
    %(first)s has not slept since %(place)s, and it shows. |
    %(first)s pockets the %(thing)s and changes the subject. |
    %(first)s reads the letter from %(cast)s aloud, all %(number)s lines of it. |
    %(first)s wraps the %(matter)s in a cloth and keeps a hand on it.""")
_TELL = _split("""
    Over %(place)s the light goes early, and there is %(weather)s by %(hour)s. |
    A cart from %(place)s goes by with %(number)s barrels and a boy asleep on top. |
    Somewhere below, a door opens, and somebody drops %(a_thing)s. |
    By %(hour)s the talk has come round to %(cast)s again, as it does every evening. |
    The road to %(place)s is closed, and will be for %(number)s days. |
    On the sill lies %(a_thing)s that was not there at %(hour)s. |
    %(cast)s comes in %(number)s minutes late with no excuse, and asks for soup. |
    In the market the price of %(a_thing)s has gone up to %(price)s. |
    %(number_cap)s strokes sound from %(place)s, though it is only %(hour)s. |
    Nobody remarks that %(cast)s has stopped carrying the %(thing)s. |
    A stranger has been asking at %(place)s about the %(matter)s and offering %(price)s. |
    The dog from %(place)s has followed %(cast)s home and will not be sent away.""")
_OPEN = _split("""
    Day %(day)s, %(hour)s, at %(place)s. There is %(weather)s, and nobody has seen the %(matter)s. |
    Day %(day)s begins with %(weather)s. At %(place)s they are waiting for news of the %(matter)s. |
    It is day %(day)s. Someone has left the %(matter)s at %(place)s with %(price)s wrapped in paper.""")
_PROMISE = _split("""
    I promise you this: I will %(task)s by day %(due)s. |
    Before day %(due)s I will %(task)s; hold me to it. |
    You have my word, I will %(task)s, and it will be done by day %(due)s.""")
_KEPT = _split("""
    On day %(made)s I promised to %(task)s, and now it is done. |
    I said on day %(made)s that I would %(task)s. It took longer than I thought, but I have kept my word.""")
_BROKEN = ("I know I promised on day %(made)s to %(task)s. I could not do it, and I am sorry.",)
_OWE = _split("""
    Lend me %(task)s for the %(thing)s, and you shall have it back on day %(due)s. |
    That makes %(task)s I owe for the %(thing)s, to be paid on day %(due)s.""")
_PAID = _split("""
    Here are the %(task)s I have owed since day %(made)s; count them. |
    I pay my debts: %(task)s, borrowed on day %(made)s, and now we are even.""")
_LEAVE = (
    " %(gone)s leaves town by the morning cart for %(place)s. By %(hour)s %(new)s has taken the empty room, "
    "with %(a_thing)s, %(price)s in coin and %(number)s letters of recommendation."
)


class _Story(dict[str, str]):
    """The state of the story, and the words of its slots.

    A slot that has a value belongs to the scene; any other slot takes a random word of its pool.
    """

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random.random
        self.day = 1
        self.cast: list[str] = []  # full names; first names are unique among them
        self.company: list[str] = []  # those of the cast who are in the scene
        self.pledges: list[tuple[str, str, int, int, bool]] = []  # who, what, made, due, is it a debt
        while len(self.cast) < 7:
            self.cast.append(self.newcomer())

    def __missing__(self, key: str) -> str:
        if key != "cast":
            return self.pick(_POOLS[key])
        first = self.pick(self.cast).partition(" ")[0]
        return first if first != self["first"] else self.__missing__(key)

    def pick(self, options: Sequence[str]) -> str:
        return options[int(self.random() * len(options))]

    def newcomer(self) -> str:
        """The full name of somebody whose first name nobody in the cast has."""
        taken = {name.partition(" ")[0] for name in self.cast}
        first = self.pick([name for name in _SHE + _HE if name not in taken])
        return f"{first} {self.pick(_SURNAMES)}"

    def compose(self, templates: tuple[str, ...], count: int) -> str:
        """``count`` sentences, no template twice in a row."""
        size = len(templates)
        index = int(self.random() * size)
        out = [templates[index] % self]
        for _ in range(count - 1):
            index = (index + 1 + int(self.random() * (size - 1))) % size
            out.append(templates[index] % self)
        return " ".join(out)

    def open_scene(self) -> str:
        """Move to another day, matter and company; now and then one of the cast is replaced."""
        self.day += int(self.random() * 3)
        self.update(day=str(self.day), soon=str(self.day + 5), past=str(max(1, self.day - 40)), first="")
        self["matter"] = self.pick(_POOLS["thing"])
        text = self.pick(_OPEN) % self
        if self.random() < 0.12:
            gone = self.cast.pop(int(self.random() * len(self.cast)))
            self.pledges = [pledge for pledge in self.pledges if pledge[0] != gone]
            self.cast.append(self.newcomer())
            self.update(gone=gone, new=self.cast[-1])
            text += _LEAVE % self
        start = int(self.random() * len(self.cast))
        self.company = [self.cast[(start + step) % len(self.cast)] for step in (0, 2, 3)]
        return text

    def pledge(self, name: str) -> str:
        """Return what `name` says about a promise or a debt: it settles one that is due, or makes a new one."""
        for index, (who, what, made, due, is_debt) in enumerate(self.pledges):
            if who == name and self.day >= due:
                del self.pledges[index]
                kept = _PAID if is_debt else _KEPT if self.random() < 0.8 else _BROKEN
                self.update(task=what, made=str(made))
                return self.pick(kept) % self
        is_debt = self.random() < 0.4
        what = self["price"] if is_debt else self["errand"] % self
        due = self.day + 3 + int(self.random() * 30)
        self.pledges.append((name, what, self.day, due, is_debt))
        del self.pledges[:-30]
        self.update(task=what, due=str(due))
        return self.pick(_OWE if is_debt else _PROMISE) % self

    def speak(self, name: str) -> str:
        """A message of a character: something done, something said, and sometimes a promise or a debt."""
        first = self["first"] = name.partition(" ")[0]
        self["he"], self["his"] = ("he", "his") if first in _HE else ("she", "her")
        chance = self.random()
        if chance < 0.03:
            return f'"{self.pick(_SHORT) % self}"'
        count = _COUNTS[int(self.random() * len(_COUNTS))]
        text = self.compose(_SAY, count)
        if chance > 0.9:
            text += " " + self.pledge(name)
        text = f'"{text}"'
        if chance < 0.4 or (count == 1 and chance <= 0.9):
            text = f"*{self.pick(_ACT) % self}* {text}"
        if 0.3 < chance < 0.5:
            text += f" *{self.pick(_ACT) % self}*"
        return text

    def narrate(self) -> str:
        """A message of the narrator."""
        self["first"] = ""
        return self.compose(_TELL, 2 + int(self.random() * 3))


def generate_story(messages: int, seed: int = 7) -> Iterator[dict[str, object]]:
    """Yield ``messages`` messages of a story; assistant and user take turns, the assistant first."""
    story = _Story(Random(seed))
    left = 0
    for index in range(messages):
        left -= 1
        if index % 2:
            yield {"role": "user", "name": PLAYER, "content": story.speak(PLAYER)}
        elif left <= 0:
            left = 10 + int(story.random() * 24)
            yield {"role": "assistant", "name": _NARRATOR, "content": story.open_scene()}
        elif story.random() < 0.15:
            yield {"role": "assistant", "name": _NARRATOR, "content": story.narrate()}
        else:
            name = story.pick(story.company)
            yield {"role": "assistant", "name": name, "content": story.speak(name)}
