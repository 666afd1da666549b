"""Commitments in other languages than English.

Owns a few strong wordings of German, Spanish, French, Russian, Chinese and Japanese; the rest is left to the cues of
the built-in folder and the word families of the checks. What must stay true: what is not plainly worded is not guessed.
"""

from __future__ import annotations

import re

from previously.folds.builtin import cues
from previously.folds.builtin.traces import content_of, folded
from previously.folds.commitments.ties import Opening, Tie

_FOREIGN_SECRET = re.compile(
    r"(?:niemand\w*|keinem|keiner)\b.{0,40}\b(?:sag|erzähl|verrat|erfahr|wissen)|(?:sag|erzähl|"
    r"verrat)\w*\b.{0,30}\bniemand"
    r"|bleibt unter uns|\bne (?:le )?(?:dis|dites|dire|raconte)\w*\b.{0,30}\bpersonne|personne ne doit|"
    r"reste entre nous"
    r"|no se lo (?:digas|diga|cuentes)|nadie (?:debe|puede) (?:saber|enterarse)|que quede entre nosotros"
    r"|ник(?:ому|то)\b.{0,30}\b(?:не (?:говори|рассказ|скажу|должен|узна))|не (?:говори|рассказывай)\w* никому"
    r"|(?:不要|别|不能|不可以|绝不)(?:告诉|说出去|跟)|保守秘密|誰にも言|秘密にし|内緒"
)
_FOREIGN_MORE = re.compile("承诺|承諾|保证一定|誓う|誓っ|約束す|約束し|我欠|还你|還你")
_FOREIGN_NOT = re.compile(
    r"\b(?:nicht|nie|kein\w*|nichts) (?:verspr|versproch|schwör|schuld)|\b(?:schulde\w*)(?: \w+)? nichts\b"
    r"|\bne (?:te |vous |lui )?(?:promets|jure|dois) (?:pas|rien)|\bno (?:te |le |les )?(?:prometo|juro|debo)\b"
    r"|\bне (?:обеща|клян)|没有?答应|不答应|不欠|約束(?:でき|は?し)(?:ない|ません)"
)
_FAMILY_OF_VOWS, _FAMILY_OF_DEBTS = folded("promise"), folded("owe")


def opening_abroad(text: str) -> Opening | None:
    """The commitment a sentence in another language makes, if it makes one."""
    low = text.lower()
    if _FOREIGN_NOT.search(low):
        return None
    secret = _FOREIGN_SECRET.search(low)
    if secret:
        return Opening(Tie.SECRET, secret.start())
    terms = content_of(text)
    vow = cues.VOW.search(low) or _FOREIGN_MORE.search(low)
    if vow or _FAMILY_OF_VOWS in terms:
        return Opening(Tie.VOW, vow.start() if vow else 0)
    debt = cues.DEBT.search(low)
    if debt or _FAMILY_OF_DEBTS in terms:
        return Opening(Tie.DEBT, debt.start() if debt else 0)
    return None
