"""Secrets are taken out of whatever is told: keys, tokens, passwords, by their shape and by the names before them.

What must stay true: linear in the text, whatever it is (every pattern is anchored at the start of a run of the
characters it then reads, or bounded); redacting twice is redacting once; hashes of commits, UUIDs, paths, numbers and
plain code keep their place, for they are what an agent needs to go on.
"""

from __future__ import annotations

import re
from typing import Final

PRIVATE_KEY, API_KEY, TOKEN, PASSWORD, SECRET = "private key", "api key", "token", "password", "secret"


def mark(kind: str) -> str:
    """What stands where a secret stood."""
    return f"[redacted {kind}]"


_START = r"(?<![A-Za-z0-9_\-])"
"""No pattern starts inside a run of characters that it could go on reading: that keeps the search linear."""

_PEM = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){0,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)*)"
)
_JWT = re.compile(_START + r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?")
_KEYS = re.compile(
    _START + r"(?:"
    r"sk-(?:ant|proj|or|svcacct|admin|lf)-[A-Za-z0-9_\-]{12,}|sk-[A-Za-z0-9]{20,}(?![A-Za-z0-9_\-])|"
    r"[spr]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{16,}|"
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_\-]{16,}|"
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])|"
    r"xox[abeprs]-[A-Za-z0-9\-]{10,}|xapp-[A-Za-z0-9\-]{10,}|"
    r"AIza[A-Za-z0-9_\-]{30,}|ya29\.[A-Za-z0-9_\-]{20,}|GOCSPX-[A-Za-z0-9_\-]{16,}|"
    r"npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_\-]{30,}|hf_[A-Za-z0-9]{24,}|gsk_[A-Za-z0-9]{24,}|xai-[A-Za-z0-9]{24,}|"
    r"r8_[A-Za-z0-9]{24,}|dckr_pat_[A-Za-z0-9_\-]{16,}|dop_v1_[a-f0-9]{32,}|lin_api_[A-Za-z0-9]{24,}|"
    r"shp(?:at|ss|ca|pa)_[a-fA-F0-9]{24,}|SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}|"
    r"AGE-SECRET-KEY-1[A-Z0-9]{20,}|\d{8,10}:AA[A-Za-z0-9_\-]{30,}"
    r")"
)
_BEARER = re.compile(
    r"(?<![A-Za-z0-9])(bearer|authorization\\?[\"']?\s{0,2}[:=]\s{0,2}\\?[\"']?(?:basic|token|digest))"
    r"\s{1,3}([A-Za-z0-9._~+/=\-]{12,})",
    re.I,
)
_IN_URL = re.compile(r"(?<=://)([^\s/:@'\"<>\[\]]{0,100}):([^\s/@'\"<>\[\]]{1,200})@(?=[A-Za-z0-9\[])")

_WEAK = r"(?:cookie|session[_\-]?id|signature|credentials?|\bkey|\bauth)"
_STRONG = (
    r"(?:(?:api|access|secret|private|auth|encryption|signing|account|storage|master|license|subscription)[_\-\s]?key"
    r"|secret|token|jwt|passcode)"
)
_PASS = r"(?:password|passwort|passwd|passphrase|contraseña|mot de passe|пароль|密码|\bpwd|_pwd|_pass)"
_NAMED = re.compile(
    rf"(?:(?P<pass>{_PASS})|(?P<strong>{_STRONG})|(?P<weak>{_WEAK}))"
    r"(?:[_\-](?:prod|dev|test|live|staging|value|base|key|\d{1,3}))?(?P<end>)"
    r"(?P<between>\\?[\"'`]?\s{0,3}(?:=>|:=|[:=：])\s{0,3}|\s{1,2}(?:is|ist|lautet)\s{1,2}|\s)"
    r"(?P<quote>\\?[\"'`]?)(?P<value>[^\s\"'`\\]{4,400})",
    re.I,
)
"""A name, what stands between, and a value. Everything is bounded: a name alone costs no more than its neighbours."""

_FLAG = re.compile(r"(?<![\w\-])--?[\w\-]{0,30}$")
_PLACEHOLDER = re.compile(
    r"[\[({<$%*#&@].*|(?:your|example|placeholder|redacted|dummy|fake)[\w.\-]*|x{3,}|\.{3,}|-+|"
    r"(?:changeme|string|secretstr|bytes|none|null|true|false|undefined|optional|required|object|number|void|password|"
    r"passwd|secret|token|bearer|basic|test)[?!]?",
    re.I,
)
_PLAIN_WORD = re.compile(r"[A-Za-z_\-.]+")
_CODE = re.compile(r"[()\[\]{}<>|;]|::|->|\.[A-Za-z_]")
_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
_NUMBER = re.compile(r"[\d.,:_%/+\-]+(?:ms|s|k|kb|mb|gb)?", re.I)
_EXTENSION = re.compile(r"/[^/]*\.\w{1,5}(?::\d+)?$")
_ENDS = ".,;:!?)]}>"


def redact(text: str) -> str:
    """The text with every secret replaced by what kind it was."""
    for find, kind in _WHOLE:
        if find.search(text):
            text = find.sub(mark(kind), text)
    text = _BEARER.sub(_bearer, text)
    text = _IN_URL.sub(_in_url, text)
    return _NAMED.sub(_named, text)


_WHOLE: Final = ((_PEM, PRIVATE_KEY), (_JWT, TOKEN), (_KEYS, API_KEY))


def _bearer(found: re.Match[str]) -> str:
    token = found[2]
    return f"{found[1]} {mark(TOKEN)}" if _mixed(token) else found[0]


def _in_url(found: re.Match[str]) -> str:
    return found[0] if _PLACEHOLDER.match(found[2]) else f"{found[1]}:{mark(PASSWORD)}@"


def _named(found: re.Match[str]) -> str:
    if not found["between"].strip() and not _FLAG.search(found.string, max(0, found.start() - 32), found.end("end")):
        return found[0]  # "the token was" is talk, "--token abc" is not
    value = found["value"]
    bare = value if found["quote"] else value.rstrip(_ENDS)
    if _PLACEHOLDER.fullmatch(bare) or _NUMBER.fullmatch(bare) or _UUID.fullmatch(bare) or _is_path(bare):
        return found[0]
    if not found["quote"] and (_CODE.search(bare) or not _given(found, value, bare)):
        return found[0]
    if found["pass"]:
        kind = PASSWORD if len(bare) >= 4 else ""
    elif found["strong"]:
        kind = (TOKEN if "token" in found["strong"].lower() else SECRET) if _mixed(bare) and len(bare) >= 8 else ""
    else:
        kind = SECRET if _is_random(bare) else ""
    before = found[0][: found.start("value") - found.start()]
    return f"{before}{mark(kind)}{value[len(bare) :]}" if kind else found[0]


def _given(found: re.Match[str], value: str, bare: str) -> bool:
    """Whether a value without quotes is one at all: a single word is mostly a variable or a type. Only a password that
    is given in a line of its own ("PASSWORD=letmein", "--password letmein") may be such a word."""
    if not _PLAIN_WORD.fullmatch(bare):
        return True
    tight = found["between"] in ("=", " ") and value == bare
    return bool(found["pass"]) and tight and "pass" not in bare.lower() and "." not in bare


def _is_random(value: str) -> bool:
    """Long and of all kinds of characters: what only a generator writes. A hash in hexadecimal is not."""
    kinds = (any(map(str.isdigit, value)), any(map(str.islower, value)), any(map(str.isupper, value)))
    return len(value) >= 24 and all(kinds) and len(set(value)) >= 14


def _mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_path(value: str) -> bool:
    return value.startswith(("/", "./", "../", "~/", "http:", "https:")) or bool(_EXTENSION.search(value))
