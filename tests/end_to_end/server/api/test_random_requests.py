"""Random requests for every route, made from the API's own description by schemathesis: sound ones and broken ones.

None breaks the server, every answer is one that the description has, and every refusal is a problem with a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable

from tests.end_to_end.server.api.conftest import Api
from tests.end_to_end.server.api.routes import GIVEN, describe_api, list_operations

ENDLESS = "/events"
KNOWN = {**GIVEN, "story": "ferry", "thing": "message:1", "position": "1", "branch": "main"}
FREE = 3
"""Of so many requests, one names what chance says; the others name what is there, and so get further in."""

QUICK_PART = 20
"""Of so many routes, `make test` tries one; `make test-rest` tries all."""

BASE = "http://127.0.0.1/api/v1"


def make_cases(part: int, count: int) -> Iterator[Any]:
    """Yield requests for every route of a part: sound by their shape, and, where a shape can be broken, broken."""
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.config import SchemathesisConfig
    from schemathesis.core.result import Ok

    config = SchemathesisConfig.from_dict({"generation": {"allow-x00": False}})
    description = schemathesis.openapi.from_dict(describe_api(), config=config)
    operations: list[Any] = [found.ok() for found in description.get_all_operations() if isinstance(found, Ok)]
    assert len(operations) == len(list_operations())
    for operation in operations[::part]:
        if operation.path.endswith(ENDLESS):
            continue
        shapes = [*operation.query, *operation.body] + [one for one in operation.path_parameters if is_number(one)]
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE) if shapes else (GenerationMode.POSITIVE,):
            yield from draw(operation.as_strategy(generation_mode=mode), count)


def is_number(parameter: Any) -> bool:
    return bool(parameter.definition.get("schema", {}).get("type") == "integer")


def draw(requests: Any, count: int) -> list[Any]:
    """Return so many requests, the same ones each time."""
    drawn: list[Any] = []

    @settings(
        max_examples=count, derandomize=True, database=None, deadline=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(requests)
    def keep(case: Any) -> None:
        drawn.append(case)

    with suppress(Unsatisfiable):  # what takes any value cannot be broken
        keep()
    return drawn


async def send(api: Api, number: int, case: Any) -> httpx.Response:
    """Send a request as it was drawn; a change without words says so."""
    if number % FREE:
        case.path_parameters.update({name: KNOWN[name] for name in case.path_parameters})
    given = case.as_transport_kwargs(base_url=BASE)
    headers = dict(given.get("headers") or {})
    content: dict[str, Any] = {}
    if "json" in given:
        content = {"json": given["json"]}
    elif given.get("data") is not None:
        content = {"content": given["data"]}
    elif given["method"] not in ("GET", "DELETE"):
        content = {"json": {}}
        headers.pop("Content-Type", None)
    return await api.client.request(
        given["method"], given["url"], params=given.get("params"), headers=headers, **content
    )


async def try_out(api: Api, part: int, count: int) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    asked, done = set(), set()
    for number, case in enumerate(make_cases(part, count)):
        for key in await api.memory.keys():
            await api.memory.remove_key(key.name)  # else everybody is asked for one
        if not any(story.name == "ferry" for story in await api.memory.stories()):
            await api.tell()
        response, route = await send(api, number, case), (case.method, case.path)
        sent = response.request
        said = f"{route}\n{sent.url}\n{sent.content[:500]!r}\n{response.text[:500]}"
        asked.add(route)
        if response.status_code >= 400:
            problem = response.json()
            assert response.headers["content-type"] == "application/problem+json", said
            assert problem["status"] == response.status_code and problem["detail"] and problem["code"], said
        if response.status_code == 502:  # a model that cannot be asked
            assert problem["code"] == "failed", said
            continue
        kept = [not_a_server_error, checks.status_code_conformance, checks.content_type_conformance]
        if response.headers["content-type"] != "text/event-stream; charset=utf-8":
            kept.append(checks.response_schema_conformance)
        case.validate_response(response, checks=kept)
        if response.status_code < 300:
            done.add(route)
    assert part > 1 or len(asked) == sum(not one.path.endswith(ENDLESS) for one in list_operations()), "all are asked"
    assert len(done) > len(describe_api()["paths"]) // 4 // part, "many are really done"


async def test_random_requests_never_break_the_server(api: Api) -> None:
    await try_out(api, QUICK_PART, 1)


@pytest.mark.slow(reason="every route, and more requests for each")
async def test_many_random_requests_never_break_the_server(api: Api) -> None:
    await try_out(api, 1, 4)
