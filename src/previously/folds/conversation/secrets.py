"""Secrets are taken out of whatever is told: keys, tokens, passwords, by their shape and by the names before them.

Linear in the text, whatever it is (every pattern is anchored at the start of a run of the characters it then reads, or
bounded). Redacting twice is redacting once. Hashes of commits, UUIDs, paths, numbers and plain code keep their place,
for they are what an agent needs to go on.
"""

from __future__ import annotations

import re
from typing import Final

from previously.core.patterns import lazy_pattern

PRIVATE_KEY, API_KEY, TOKEN, PASSWORD, SECRET = "private key", "api key", "token", "password", "secret"


def mark_secret(kind: str) -> str:
    """Return what stands where a secret stood."""
    return f"[redacted {kind}]"


_START = r"(?<![A-Za-z0-9_\-])"
"""No pattern starts inside a run of characters that it could go on reading: that keeps the search linear."""

_PEM = lazy_pattern(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?:[^-]|-(?!----)){0,20000}-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:\s|\\[nr])*(?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])*)*)"
)
_JWT = lazy_pattern(_START + r"eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?")
_KEYS = lazy_pattern(
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
_BEARER = lazy_pattern(
    r"(?<![A-Za-z0-9])(bearer|authorization\\?[\"']?\s{0,2}[:=]\s{0,2}\\?[\"']?(?:basic|token|digest))"
    r"\s{1,3}([A-Za-z0-9._~+/=\-]{12,})",
    re.I,
)
_IN_URL = lazy_pattern(r"(?<=://)([^\s/:@'\"<>\[\]]{0,100}):([^\s/@'\"<>\[\]]{1,200})@(?=[A-Za-z0-9\[])")

_WEAK = r"(?:cookie|session[_\-]?id|signature|credentials?|\bkey|\bauth)"
_STRONG = (
    r"(?:(?:api|access|secret|private|auth|encryption|signing|account|storage|master|license|subscription)[_\-\s]?key"
    r"|secret|token|jwt|passcode)"
)
_PASS = r"(?:password|passwort|passwd|passphrase|contraseña|mot de passe|пароль|密码|\bpwd|_pwd|_pass)"
_NAMED = lazy_pattern(
    rf"(?:(?P<pass>{_PASS})|(?P<strong>{_STRONG})|(?P<weak>{_WEAK}))"
    r"(?:[_\-](?:prod|dev|test|live|staging|value|base|key|\d{1,3}))?(?P<end>)"
    r"(?P<between>\\?[\"'`]?\s{0,3}(?:=>|:=|[:=：])\s{0,3}|\s{1,2}(?:is|ist|lautet)\s{1,2}|\s)"
    r"(?:(?P<quote>\\?[\"'`])(?P<quoted>[^\n\"'`\\]{4,120}(?=(?P=quote))|[^\s\"'`\\]{4,400})"
    r"|(?P<value>[^\s\"'`\\;]{4,400}))",
    re.I,
)
"""A name, what stands between, and a value. Everything is bounded: a name alone costs no more than its neighbours."""

_NAMES = (
    "key", "secret", "token", "jwt", "passcode", "password", "passwort", "passwd", "passphrase", "contraseña",
    "mot de passe", "пароль", "密码", "pwd", "_pass", "cookie", "session", "signature", "credential", "auth",
)  # fmt: skip
"""Without one of these there is no name: to look for them first is many times as fast."""

_USER_FLAG = lazy_pattern(
    r"(?<![\w\-])(?P<before>(?:-u|--user|--proxy-user)[ =]?[\"']?[^\s:\"'/]{1,64}:)(?P<value>[^\s\"'`/]{3,200})"
)
_GLUED_FLAG = lazy_pattern(r"(?<=\s)(?P<before>-p[\"']?)(?P<value>[^\s\"'`]{3,200})")
_SSHPASS = lazy_pattern(r"\b(?P<before>sshpass\s{1,4}-p\s{0,4}[\"']?)(?P<value>[^\s\"'`]{3,200})")
_NETRC = lazy_pattern(
    r"\b(?P<before>(?:machine\s{1,20}[^\s]{1,200}|default)\s{1,20}login\s{1,20}[^\s]{1,200}\s{1,20}password\s{1,20})"
    r"(?P<value>[^\s]{3,200})"
)
_LINE_BEFORE = 300
"""Characters before a flag in which its program is looked for."""

_CURL, _MYSQL = lazy_pattern(r"\bcurl\b"), lazy_pattern(r"\b(?:mysql|mariadb)[\w\-]{0,20}\s[^|;&]*$")
_NEXT_SETTING = lazy_pattern(r";\s?[A-Z][A-Za-z ]{1,40}=")
_PROSE = lazy_pattern(
    r"\b(?:the|is|are|be|must|should|at|least|of|to|in|on|for|not|your|enter|please|characters?|see|and|or|with)\b",
    re.I,
)
_NO_PASSWORD = lazy_pattern(
    r"incorrect|invalid|wrong|missing|empty|hidden|masked|disabled|enabled|failed|changed|updated|unset|default|"
    r"unknown|accepted|rejected|correct|valid|text|expired|denied|prompt|yes|unchanged|weak|strong",
    re.I,
)
_FLAG = lazy_pattern(r"(?<![\w\-])--?[\w\-]{0,30}$")
_PLACEHOLDER = lazy_pattern(
    r"[\[({<$%*#&@].*|(?:your|example|placeholder|redacted|dummy|fake)[\w.\-]*|x{3,}|\.{3,}|-+|"
    r"(?:changeme|string|secretstr|bytes|none|null|true|false|undefined|optional|required|object|number|void|password|"
    r"passwd|secret|token|bearer|basic|test)[?!]?",
    re.I,
)
_PLAIN_WORD = lazy_pattern(r"[A-Za-z_\-.]+")
_CODE = lazy_pattern(r"[()\[\]{}<>|;]|::|->|\.[A-Za-z_]")
_UUID = lazy_pattern(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
_NUMBER = lazy_pattern(r"[\d.,:_%/+\-]+(?:ms|s|k|kb|mb|gb)?", re.I)
_EXTENSION = lazy_pattern(r"/[^/]*\.\w{1,5}(?::\d+)?$")
_ENDS = ".,;:!?)]}>"


def redact(text: str) -> str:
    """The text with every secret replaced by what kind it was."""
    for find, kind in _WHOLE:
        if find.search(text):
            text = find.sub(mark_secret(kind), text)
    folded = text.casefold()
    if "bearer" in folded or "authorization" in folded:
        text = _BEARER.sub(_hide_bearer, text)
    if "://" in text:
        text = _IN_URL.sub(_in_url, text)
    if "-u" in text or "-user" in text:
        text = _USER_FLAG.sub(_of_user, text)
    if "mysql" in folded or "mariadb" in folded:
        text = _GLUED_FLAG.sub(_hide_glued, text)
    if "sshpass" in text:
        text = _SSHPASS.sub(_hide_named, text)
    if "login" in text:
        text = _NETRC.sub(_hide_named, text)
    return _NAMED.sub(_named, text) if any(name in folded for name in _NAMES) else text


_WHOLE: Final = ((_PEM, PRIVATE_KEY), (_JWT, TOKEN), (_KEYS, API_KEY))


def _hide_bearer(match: re.Match[str]) -> str:
    token = match[2]
    return f"{match[1]} {mark_secret(TOKEN)}" if _is_mixed(token) else match[0]


def _in_url(match: re.Match[str]) -> str:
    return match[0] if _PLACEHOLDER.match(match[2]) else f"{match[1]}:{mark_secret(PASSWORD)}@"


def _hide_named(match: re.Match[str]) -> str:
    return match[0] if _PLACEHOLDER.fullmatch(match["value"]) else f"{match['before']}{mark_secret(PASSWORD)}"


def _line_before(match: re.Match[str]) -> str:
    return match.string[max(0, match.start() - _LINE_BEFORE) : match.start()].rpartition("\n")[2]


def _of_user(match: re.Match[str]) -> str:
    """`curl -u name:password`; of another program only what no name of a group looks like."""
    value = match["value"]
    generated = _is_mixed(value) and len(value) >= 8
    if _NUMBER.fullmatch(value) or not (generated or _CURL.search(_line_before(match))):
        return match[0]
    return _hide_named(match)


def _hide_glued(match: re.Match[str]) -> str:
    """`mysql -ppassword`. Of other programs `-p` is followed by a port, a path or nothing."""
    if _NUMBER.fullmatch(match["value"]) or not _MYSQL.search(_line_before(match)):
        return match[0]
    return _hide_named(match)


def _named(match: re.Match[str]) -> str:
    if not match["between"].strip() and not _FLAG.search(match.string, max(0, match.start() - 32), match.end("end")):
        return match[0]  # "the token was" is talk, "--token abc" is not
    value = match["quoted"] or match["value"]
    if " " in value and not _PLACEHOLDER.fullmatch(value) and (not match["pass"] or _is_prose(value)):
        value = value.split()[0]  # a sentence: at most its first word is a secret
        if not _is_mixed(value):
            return match[0]
    bare = value if match["quote"] else value.rstrip(_ENDS)
    if _PLACEHOLDER.fullmatch(bare) or _NUMBER.fullmatch(bare) or _UUID.fullmatch(bare) or _is_path(bare):
        return match[0]
    if not match["quote"] and (_CODE.search(bare) or not _is_given(match, value, bare)):
        return match[0]
    if match["pass"]:
        kind = PASSWORD if len(bare) >= 4 else ""
    elif match["strong"]:
        kind = (TOKEN if "token" in match["strong"].lower() else SECRET) if _is_mixed(bare) and len(bare) >= 8 else ""
    else:
        kind = SECRET if _is_random(bare) else ""
    start = match.start("quoted" if match["quote"] else "value") - match.start()
    return f"{match[0][:start]}{mark_secret(kind)}{match[0][start + len(bare) :]}" if kind else match[0]


def _is_prose(value: str) -> bool:
    return bool(_PROSE.search(value)) or all(one.isalpha() or one.isspace() for one in value)


def _is_given(match: re.Match[str], value: str, bare: str) -> bool:
    """Return whether a value without quotes is one at all: a single word is mostly a variable or a type. Only a
    password that is given in a line of its own ("PASSWORD=letmein", "--password letmein", "Password: letmein") or among
    settings ("Password=letmein;Database=x") may be such a word."""
    if not _PLAIN_WORD.fullmatch(bare):
        return True
    if not match["pass"] or "pass" in bare.lower() or "." in bare:
        return False
    behind = match.string[match.end() : match.end() + 1]
    if match["between"] in ("=", " ") and value == bare:
        return behind != ";" or bool(_NEXT_SETTING.match(match.string, match.end()))
    labels = match["pass"][0].isupper() and not match.string[max(0, match.start() - 1) : match.start()].isalnum()
    in_its_own_line = behind in ("", "\n", "\r") and value.rstrip(".") == bare
    return labels and match["between"] == ": " and in_its_own_line and not _NO_PASSWORD.fullmatch(bare)


def _is_random(value: str) -> bool:
    """Long and of all kinds of characters: what only a generator writes. A hash in hexadecimal is not."""
    kinds = (any(map(str.isdigit, value)), any(map(str.islower, value)), any(map(str.isupper, value)))
    return len(value) >= 24 and all(kinds) and len(set(value)) >= 14


def _is_mixed(value: str) -> bool:
    return any(map(str.isdigit, value)) and any(map(str.isalpha, value))


def _is_path(value: str) -> bool:
    if value.startswith("/") and value.endswith("="):
        return False  # Base64
    return value.startswith(("/", "./", "../", "~/", "http:", "https:")) or bool(_EXTENSION.search(value))
