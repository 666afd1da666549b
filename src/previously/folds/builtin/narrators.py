"""Who tells the story, as against who plays in it.

Owns the question whether a speaker is a narrator: a game master or a narrating model, who tells "you" what you
see. What must stay true: a speaker becomes one by habit over many messages, not by one sentence, and the habit
is carried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from previously.folds.builtin.names import shown
from previously.folds.builtin.reading import Said
from previously.text.sentences import QUOTED

_TOLD = re.compile(
    r"(?:^|[.!?,;]\s+|\b(?:as|when|while|and|then|once|where|before)\s+)you(?:'re)?(?: guys| all| both| can| "
    r"also| then)?\s+"
    r"(?:see|hear|notice|find|watch|feel|smell|walk|arrive|continue|head|enter|approach|step|make your way|"
    r"come|glance|look|"
    r"begin|start|reach|wake|open|pass|turn|manage|follow|spot|recogni[sz]e|sense|realize|stand|sit|gather|"
    r"walking|making|coming|"
    r"heading|standing|sitting|looking|entering)\b"
)
_BY_TITLE = frozenset(
    {"narrator", "gm", "dm", "game master", "dungeon master", "storyteller", "the narrator", "keeper"}
)
LEAST_HITS = 4
LEAST_SHARE = 0.06
"""Of a speaker's messages, how many tell "you" something. Game masters reach 0.1 to 0.3, players stay below 0.02."""


def habits(messages: Iterable[Said], earlier: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """For each speaker the number of messages and of those that narrate to "you", earlier ones included."""
    counts = dict(earlier)
    for message in messages:
        name = shown(message.speaker or "")
        if not name:
            continue
        text = message.text.lower()
        told = "you" in text and bool(_TOLD.search(QUOTED.sub(" ", text.replace("’", "'"))))
        said_before, told_before = counts.get(name, (0, 0))
        counts[name] = (said_before + 1, told_before + told)
    return counts


def has_title(name: str) -> bool:
    """Whether a speaker is called the narrator, so that no habit has to show it."""
    return name.lower() in _BY_TITLE


def narrators_among(counts: Mapping[str, tuple[int, int]]) -> frozenset[str]:
    """The speakers whose habit, or whose title, is to narrate."""
    return frozenset(
        name
        for name, (said, told) in counts.items()
        if has_title(name) or (told >= LEAST_HITS and told >= LEAST_SHARE * said)
    )
