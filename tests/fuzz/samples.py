"""Samples of every file that is read: small, and with every field that a reader looks at."""

from __future__ import annotations

from typing import Any

from tests.fuzz.mutations import Sample

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"where": "mill"}'}}
PICTURE = "data:image/png;base64,aGk="

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "You are the narrator of [Ada's] tale."},
    {"role": "user", "name": "Ada", "content": "Who is there?"},
    {"role": "assistant", "content": [{"type": "text", "text": "Finn."}, {"type": "image_url", "image_url": PICTURE}]},
    {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "A mill, and rain."},
    {"role": "assistant", "content": "Rain falls on the mill.", "refusal": None},
]

JSONL = [
    Sample.of(
        [
            *CHAT,
            {"role": "user", "content": "Go on.", "witnesses": ["Ada", "Finn"], "at": "2024-05-01T10:00:00+02:00"},
            {"role": "assistant", "content": "She goes.", "id": 7, "hidden": True, "extra": {"k": [1, {"a": None}]}},
            {"role": "user", "content": "At last.", "at": 1_700_000_000_123},
        ]
    )
]

OPENAI = [Sample.of({"model": "m", "messages": CHAT, "temperature": 0.7, "stop": ["x"]})]

BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": "Fix the test."},
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "I look.", "cache_control": {"type": "ephemeral"}},
            {"type": "tool_use", "id": "t1", "name": "sh", "input": {"command": "ls"}},
            {"type": "redacted_thinking", "data": "x"},
        ],
    },
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "t1", "is_error": False, "content": [{"type": "text", "text": "a"}]},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
            {"type": "document", "source": {"type": "url", "url": "http://127.0.0.1/x.pdf"}},
        ],
    },
]

ANTHROPIC = [
    Sample.of({"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": "Be brief."}], "messages": BLOCKS})
]

ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hi."}]},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
    {"type": "function_call", "id": "f", "call_id": "c1", "name": "sh", "arguments": '{"a": 1}', "status": "completed"},
    {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_image", "image_url": PICTURE}]},
    {"type": "local_shell_call", "call_id": "c2", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "shell_call_output", "call_id": "c2", "output": [{"stdout": "a", "stderr": "", "outcome": {}}]},
    {"type": "computer_call_output", "call_id": "c3", "output": {"type": "computer_screenshot", "image_url": PICTURE}},
    {"type": "item_reference", "id": "x"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "Ho.", "annotations": []}], "phase": "final"},
]

RESPONSES = [
    Sample.of({"model": "m", "instructions": "Be brief.", "input": ITEMS}),
    Sample.of({"input": "Hi.", "output": ITEMS[1:4], "previous_response_id": None}),
]


def _line(uuid: str, parent: str | None, kind: str, content: object, **more: object) -> dict[str, Any]:
    said: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        said |= {"id": f"m-{uuid}", "model": "m", "usage": {"output_tokens": 1}}
    about = {"sessionId": "s1", "cwd": "/work", "timestamp": "2026-01-01T00:00:00Z", "isSidechain": False}
    return {"parentUuid": parent, "type": kind, "message": said, "uuid": uuid, **about, **more}


CLAUDE_CODE = [
    Sample.of(
        [
            _line("a", None, "user", "Hi."),
            _line("b", "a", "assistant", [BLOCKS[1]["content"][0]], requestId="q"),
            _line("c", "b", "assistant", BLOCKS[1]["content"][1:3]),
            _line("d", "c", "user", BLOCKS[2]["content"][:1], toolUseResult={"stdout": "a"}),
            {"type": "system", "subtype": "compact_boundary", "uuid": "x", "logicalParentUuid": "d"},
            _line("e", "x", "user", "This session is being continued from a previous conversation.", isMeta=True),
            _line("f", "e", "user", "Go on.", isCompactSummary=True),
            _line("g", "a", "user", "Something else.", previously={"system": True}),
            _line("h", None, "user", "Aside.", isSidechain=True, agentId="k"),
            {"type": "summary", "summary": "A fix", "leafUuid": "g"},
        ]
    )
]

CODEX = [
    Sample.of(
        [
            {"type": "session_meta", "timestamp": "t", "payload": {"id": "s", "cwd": "/work", "instructions": None}},
            {"type": "turn_context", "payload": {"cwd": "/work", "model": "m"}},
            *({"type": "response_item", "timestamp": "2026-01-01T00:00:00Z", "payload": item} for item in ITEMS[:5]),
            {"type": "event_msg", "payload": {"type": "thread_rolled_back", "num_turns": 1}},
            {"type": "response_item", "payload": {"role": "user", "content": "<environment_context> x"}},
            {"type": "compacted", "payload": {"message": "It was so.", "replacement_history": ITEMS[:2]}},
            {"type": "response_item", "payload": ITEMS[-1]},
        ]
    ),
    Sample.of([{"id": "s", "timestamp": "t", "instructions": None}, {"record_type": "state"}, *ITEMS[:4]]),
]

_STATES = (
    {"status": "completed", "input": {"command": "ls"}, "output": "a\nb", "attachments": [{"mime": "image/png"}]},
    {"status": "error", "input": {}, "error": "no"},
    {"status": "pending", "input": {}, "raw": '{"comm'},
)

OPENCODE = [
    Sample.of(
        {
            "info": {
                "id": "ses_1", "title": "A fix", "directory": "/work", "parentID": "ses_0",
                "time": {"created": 1, "updated": 2}, "revert": {"messageID": "msg_2", "partID": "prt_9"},
            },
            "messages": [
                {
                    "info": {"id": "msg_1", "role": "user", "time": {"created": 1_760_000_000_000}},
                    "parts": [
                        {"id": "prt_1", "type": "text", "text": "Hi."},
                        {"id": "prt_2", "type": "text", "text": "<file>", "synthetic": True},
                        {"id": "prt_3", "type": "file", "mime": "image/png", "url": PICTURE, "filename": "a.png"},
                    ],
                },
                {
                    "info": {"id": "msg_2", "role": "assistant", "error": {"name": "E", "data": {"message": "no"}},
                             "summary": True, "cost": 0.5},
                    "parts": [
                        {"id": "prt_4", "type": "step-start"},
                        {"id": "prt_5", "type": "reasoning", "text": "Hm.", "metadata": {"a": 1}},
                        *({"id": "p", "type": "tool", "tool": "sh", "callID": "c", "state": one} for one in _STATES),
                        {"id": "prt_8", "type": "step-start"},
                        {"id": "prt_9", "type": "text", "text": "Done."},
                        {"id": "prt_a", "type": "compaction"},
                    ],
                },
            ],
        }
    )
]  # fmt: skip

SWE_AGENT = [
    Sample.of(
        {
            "environment": "swe",
            "history": [
                {"role": "system", "content": "You fix bugs.", "agent": "main"},
                {"role": "user", "content": [{"type": "text", "text": "Fix it."}], "is_demo": True, "tags": ["x"]},
                {"role": "assistant", "content": "I look.", "thought": "Hm.", "action": "ls", "tool_calls": [CALL],
                 "thinking_blocks": [{"type": "thinking", "thinking": "Hm."}]},
                {"role": "tool", "content": "a", "tool_call_ids": ["c1", "c2"]},
            ],
            "trajectory": [{"action": "ls", "observation": "a", "response": "I look.", "state": {"cwd": "/work"}}],
            "info": {"exit_status": "submitted"},
        }
    ),
    Sample.of({"trajectory": [{"response": "Hm.", "observation": "a", "tool_calls": [CALL], "tool_call_ids": ["c1"]}],
               "history": []}),
]  # fmt: skip

SILLYTAVERN = [
    Sample.of(
        [
            {"user_name": "Ada", "character_name": "Finn", "create_date": "2024-05-01 @10h 00m 00s 000ms",
             "chat_metadata": {"note_prompt": "", "timedWorldInfo": {}}},
            {"name": "Finn", "is_user": False, "is_system": False, "send_date": "May 1, 2024 10:00am",
             "mes": "Hello, {{user}}.", "swipe_id": 1, "swipes": ["Hello.", "Hello, {{user}}.", ""],
             "swipe_info": [{"send_date": "x", "extra": {"reasoning": "Hm."}}, {}, None], "extra": {"api": "x"}},
            {"name": "Ada", "is_user": True, "mes": "Who are you?", "send_date": 1_714_550_400_000},
            {"name": "Finn", "is_user": False, "mes": "*He sits.*", "extra": {"type": "narrator", "reasoning": "So."}},
            {"name": "Note", "is_user": False, "is_system": "true", "mes": "A note.", "extra": {"tool_calls": []}},
        ]
    )
]  # fmt: skip

TEXTS = [
    Sample.of("Ada: Who is there?\nFinn: It is me.\nand the dog.\n\nGuard of the Gate: Halt!\nyou: we halt\nyou: so\n"),
    Sample.of("It rained at the mill.\n\nRule One: never run.\nShe ran.\n\n[Scene: a tavern]\n“No,” said Finn.\n"),
    Sample.of("雨が降っている。\r\n\r\n田中：はい。\r\n[12:30] Ada: hi\r\nSystem: x\r\n"),
]

_WORLD_ENTRY = {
    "uid": 0, "key": ["mill", "/mi(ll|lls)/i"], "keysecondary": ["rain"], "selective": True, "selectiveLogic": 0,
    "comment": "The mill", "content": "A mill by the river.", "constant": False, "order": 100, "disable": False,
    "ignoreBudget": False, "excludeRecursion": False, "preventRecursion": False, "delayUntilRecursion": 0,
    "probability": 100, "useProbability": True, "scanDepth": None, "caseSensitive": None, "matchWholeWords": None,
    "sticky": 2, "cooldown": 1, "delay": 0, "extensions": {"previously": {"name": "Mill", "type": "place"}},
}  # fmt: skip
_CARD_ENTRY = {
    "id": 1, "keys": ["Finn"], "secondary_keys": ["dog"], "selective": True, "name": "Finn", "comment": "",
    "content": "A miller.", "enabled": True, "insertion_order": 10, "constant": False, "case_sensitive": False,
    "extensions": {"selectiveLogic": 3, "probability": 50, "useProbability": True, "sticky": 1, "scan_depth": 4},
}  # fmt: skip

BOOKS = [
    Sample.of({"name": "Vale", "entries": {"0": _WORLD_ENTRY, "1": {**_WORLD_ENTRY, "uid": 1, "constant": True}}}),
    Sample.of({"entries": [_WORLD_ENTRY]}),
    Sample.of({"spec": "chara_card_v2", "data": {"name": "Finn", "character_book": {"entries": [_CARD_ENTRY]}}}),
    Sample.of({"spec": "lorebook_v3", "data": {"name": "Vale", "entries": [_CARD_ENTRY, _CARD_ENTRY]}}),
    Sample.of('[{"name": "Mill", "type": "place", "keywords": "mill", "content": "A mill.", "comment": ""}]'),
    Sample.of({"lorebookVersion": 5, "entries": []}),
]

SCENES = [
    Sample.of(
        {
            "summary": "Ada asked who was there. Finn said that the mill was his.",
            "lorebooks": [{"name": "Finn", "type": "character", "keywords": ["Finn"], "content": "A miller."}],
            "signals": {"scene_end": True}, "settled": [{"id": "a1", "how": "paid"}],
        }
    ),
    Sample.of(
        {
            "narrative": ["Ada came.", "It rained."], "memorable_events": "The fair.", "npcs_status": {"Finn": "tired"},
            "npcs_facts": [{"name": "Finn", "trade": "miller"}], "visited_locations": ["Mill"], "secrets": {"a": [1]},
            "current_relationships": {"Ada": {"Finn": "cousin"}}, "weather": True,
        }
    ),
    Sample.of('```json\n{"recap": "Ada came.", "lore": "x"}\n```'),
    Sample.of("{{user}} came to the mill. It rained."),
]  # fmt: skip

SETTINGS = [
    Sample.of(
        'db = "stories.db"\npreset = "novel"\nmodel = "small"\nprompts = "~/prompts"\nwindow_tokens = 8192\n'
        'recap_words = 200\ntokenizer = "estimate"\ntail_messages = 12\n# a note\n'
    ),
    Sample.of('endpoint = "http://127.0.0.1:1/v1"\n[table]\na = 1\n'),
    Sample.of('fold_tokens = 1_000\ntimeline = "scenes"\nlist = [1, 2, { a = 1979-05-27T07:32:00Z }]\n'),
]

PROMPTS = [
    Sample.of("You join summaries in {{length}}.\n\n=== user ===\n{{summaries}}\n{{hint}}\n=== form ===\nx\n"),
]

_ASKED = {
    "id": 1, "owner": "ann", "story": "Mill", "named": True, "kind": None, "dialect": "chat", "at": "2026-01-01T00:00",
    "names": ["Finn", "Ada", ["Finn", "Tess"]], "body": {"model": "m", "messages": CHAT[:3]},
}  # fmt: skip
WAITING = [
    Sample.of([_ASKED, {"answers": 1, "replies": [[CHAT[2]]], "partial": True, "at": "t"}, {**_ASKED, "id": 2}]),
    Sample.of([_ASKED, {"done": 1}, {**_ASKED, "id": 3, "dialect": "messages", "body": {"messages": BLOCKS}}]),
]
"""Lines of waiting turns as versions up to 0.1 wrote them: with a checksum, that would be the only fault."""

CARD: dict[str, Any] = {
    "spec": "chara_card_v3",
    "spec_version": "3.0",
    "data": {
        "name": "Finn",
        "nickname": "F",
        "description": "{{char}} grinds for {{user}}.",
        "personality": "calm",
        "scenario": "A mill.",
        "first_mes": "{{char}} waves.{{trim}}",
        "mes_example": "<START>",
        "alternate_greetings": ["Hi, <USER>.", "Ho."],
        "character_book": {"name": "b", "entries": [{"keys": ["mill"], "content": "Old.", "id": 1, "enabled": True}]},
        "extensions": {"world": "x"},
    },
}

CARDS = [Sample.of(CARD), Sample.of({"name": "Finn", "first_mes": "Hi.", "description": "d", "personality": "p"})]

LORE_FILES = [
    Sample.of(
        {
            "type": "risu",
            "ver": 1,
            "data": [
                {"key": "a, b", "secondkey": "", "insertorder": 3, "comment": "c", "content": "x", "mode": "normal",
                 "alwaysActive": False, "selective": True, "useRegex": False, "activationPercent": 50,
                 "extentions": {"risu_case_sensitive": True}},
                {"key": "", "content": "", "mode": "folder"},
            ],
        }
    ),
    Sample.of(
        {
            "entries": {
                "0": {"uid": 0, "key": ["mill"], "comment": "[1] Dawn", "content": "They met.", "stmemorybooks": True,
                      "STMB_start": 0, "STMB_end": 1},
                "1": {"uid": 1, "key": ["key"], "content": "Iron.", "constant": True},
            }
        }
    ),
]  # fmt: skip

EXPORTS = [
    Sample.of(
        {
            "title": "The mill",
            "conversation_id": "c1",
            "current_node": "d",
            "mapping": {
                "r": {"id": "r", "message": None, "parent": None, "children": ["a"]},
                "a": {"message": {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["Hi."]},
                                  "create_time": 1_700_000_000.5}, "parent": "r"},
                "b": {"message": {"author": {"role": "assistant"}, "recipient": "python",
                                  "content": {"content_type": "code", "text": "1"}}, "parent": "a"},
                "c": {"message": {"author": {"role": "tool", "name": "python"},
                                  "content": {"content_type": "execution_output", "text": "1"}}, "parent": "b"},
                "d": {"message": {"author": {"role": "assistant"}, "metadata": {"model_slug": "m"},
                                  "content": {"content_type": "thoughts", "thoughts": [{"content": "x"}]}},
                      "parent": "c"},
                "e": {"message": {"author": {"role": "assistant"}, "content": {"content_type": "multimodal_text",
                                  "parts": [{"content_type": "image_asset_pointer"}, "See."]}}, "parent": "a"},
                "f": {"message": {"author": {"role": "user"}, "content": {"parts": ["Go."]}}, "parent": "e"},
            },
        }
    ),
    Sample.of(
        {
            "conversations": [
                {"uuid": "x1", "name": "The key", "chat_messages": [
                    {"uuid": "m1", "sender": "human", "text": "Hi.", "created_at": "2024-05-01T10:00:00Z",
                     "attachments": [{"file_name": "a.txt", "extracted_content": "b"}]},
                    {"uuid": "m2", "sender": "assistant", "parent_message_uuid": "m1", "content": [
                        {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Ho."},
                        {"type": "tool_use", "id": "t", "name": "s", "input": {"q": 1}},
                        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "2"}]}]},
                ]},
                {"uuid": "x2", "name": "", "chat_messages": [{"sender": "human", "text": "Alone."}]},
            ]
        }
    ),
]  # fmt: skip

MARKDOWN = [
    Sample.of(
        "---\ntitle: T\n---\n# The Mill\n\nRain *falls*.\n\nDawn\n----\n\n```\n# x\n```\n> quoted\n\n## Noon ##\nSun."
    )
]

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
WORD = [
    Sample.of(
        f'<?xml version="1.0"?><w:document {_WORD}><w:body><w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r>'
        "<w:t>The Mill</w:t></w:r></w:p><w:p><w:r><w:t>Rain &amp; wind.</w:t><w:br/><w:tab/></w:r><w:del><w:r>"
        "<w:t>no</w:t></w:r></w:del>"
        '</w:p><w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr><w:r><w:t>Noon</w:t></w:r></w:p></w:body></w:document>'
    ),
    Sample.of('<!DOCTYPE a [<!ENTITY a "x"><!ENTITY b SYSTEM "file:///etc/passwd">]><w>&a;&b;</w>'),
]

PAGES = [
    Sample.of(
        "<html><head><title>x</title></head><body><h1>Dawn</h1><p>Rain &amp; <i>wind</i>&nbsp;<br/>fell.</p><hr/>"
        "<script>x</script><div>One<p>two</p></div><!-- no --><![CDATA[ x ]]></body></html>"
    ),
    Sample.of(
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="page.xhtml" '
        'media-type="application/xhtml+xml"/><item id="n" href="../toc.ncx" properties="nav"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>'
    ),
    Sample.of('<container><rootfiles><rootfile full-path="p.opf"/></rootfiles></container>'),
]

QVINK = [
    Sample.of(
        [
            {"chat_metadata": {"world_info": "../Ours", "STMemoryBooks": {"sceneStart": 0}}, "user_name": "Ada"},
            {"name": "Finn", "is_user": False, "mes": "Hi.", "extra": {"qvink_memory": {"memory": "Finn came.",
             "include": "short", "exclude": False, "edited": True}}},
            {"name": "Ada", "is_user": True, "mes": "Ho.", "extra": {"qvink_memory": {"memory": None}}},
            {"name": "Finn", "is_user": False, "mes": "Go.", "extra": {"qvink_memory": {"memory": "He left."}}},
        ]
    )
]  # fmt: skip

ERRATA = [
    Sample.of(
        [
            {"id": "s", "name": "The mill", "summary": "They met.", "settings": {}},
            {"branches": [{"id": "main", "name": "Main"}], "activeBranchId": "main"},
            {"entries": [{"proseFragments": ["mk-0001"], "active": "mk-0001"},
                         {"proseFragments": ["pr-0001", "pr-0002"], "active": "pr-0001"},
                         {"proseFragments": ["pr-0003"], "active": "pr-0003"}]},
            {"id": "la-1", "createdAt": "2026", "fragmentId": "pr-0001", "summaryUpdate": "Finn came.",
             "structuredSummary": {"events": ["a"], "stateChanges": ["b"], "openThreads": ["c"]},
             "mentions": [{"characterId": "ch-0001", "text": "he"}], "contradictions": [{"description": "d"}]},
            {"summarizedUpTo": "pr-0001"},
            {"id": "mk-0001", "type": "marker", "name": "Dawn", "content": "They met."},
            {"id": "pr-0001", "type": "prose", "name": "p", "content": "Finn came.", "createdAt": "2026-01-01"},
            {"id": "pr-0002", "type": "prose", "name": "p", "content": "Nobody came."},
            {"id": "pr-0003", "type": "prose", "name": "p", "content": "He ate."},
            {"id": "ch-0001", "type": "character", "name": "Finn", "content": "A miller.", "sticky": True},
            {"id": "sm-0001", "type": "summary", "name": "s", "content": "They ate.",
             "meta": {"coverageStart": "pr-0003", "coverageEnd": "pr-0003"}},
        ]
    )
]  # fmt: skip
"""The files of a story's folder, one a line, in the order in which they are written."""
