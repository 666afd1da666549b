"""What is counted, in Prometheus' text form, and that no label holds anything a user wrote."""

from __future__ import annotations

import re

import pytest
from starlette.applications import Starlette

from previously.core.path import Span
from previously.core.versions import Cost, Kind
from previously.runtime.fold_report import FoldDone, FoldReport
from previously.server.metrics import (
    MILLISECONDS,
    CountMetric,
    Gauge,
    Histogram,
    Metrics,
    find_route,
    make_metrics_route,
)
from tests.end_to_end.server.asking import asked

LINE = re.compile(r'[a-z_]+(\{[a-z_]+="[^"\\\n]*"(,[a-z_]+="[^"\\\n]*")*\})? -?[0-9.e+]+')
CANARY = 'canary"} 1\n{x="'


def parsed(text: str) -> dict[str, float]:
    """Every sample; each metric is announced before its samples, once."""
    assert text.endswith("\n")
    samples: dict[str, float] = {}
    announced: list[str] = []
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            assert rest
            if word == "TYPE":
                assert name not in announced
                announced.append(name)
            continue
        assert LINE.fullmatch(line), line
        name, value = line.rsplit(" ", 1)
        assert re.sub(r"(_bucket|_sum|_count)?(\{.*)?$", "", name) in announced[-1]
        assert name not in samples
        samples[name] = float(value)
    return samples


def test_a_new_server_has_counted_nothing() -> None:
    samples = parsed(Metrics().text())
    assert samples["previously_turns_total"] == 0
    assert samples["previously_open_streams"] == 0
    assert samples["previously_waiting_turns"] == 0


def test_counts() -> None:
    metrics = Metrics()
    for _ in range(1_234_567):
        metrics.turns._values[()] += 1
    metrics.requests.add(route="/v1/chat/completions", status=200)
    metrics.requests.add(route="/v1/chat/completions", status="200")
    metrics.requests.add(route="/", status=401)
    metrics.open_streams.add(2)
    metrics.open_streams.add(-1)
    metrics.waiting.ask = lambda: 7
    samples = parsed(metrics.text())
    assert samples["previously_turns_total"] == 1_234_567
    assert samples['previously_requests_total{route="/v1/chat/completions",status="200"}'] == 2
    assert samples['previously_requests_total{route="/",status="401"}'] == 1
    assert samples["previously_open_streams"] == 1
    assert samples["previously_waiting_turns"] == 7
    assert metrics.requests.value(route="/", status=401) == 1


def test_a_histogram_counts_what_is_at_most_so_much() -> None:
    metrics = Metrics()
    for number in (0.4, 1, 1.5, 30, 99_999):
        metrics.added_ms.observe(number)
    samples = parsed(metrics.text())
    counts = [samples[f'previously_added_milliseconds_bucket{{le="{bound}"}}'] for bound in [*MILLISECONDS, "+Inf"]]
    assert counts == sorted(counts)
    assert counts[:2] == [2, 3]
    assert counts[-1] == samples["previously_added_milliseconds_count"] == metrics.added_ms.count == 5
    assert samples["previously_added_milliseconds_sum"] == pytest.approx(100_031.9)


def test_folds_by_what_became_of_them() -> None:
    done = [
        FoldDone(Kind.RECAP, "", status, "model", "40 messages", Span(0, 9), Cost(calls, 1, 1))
        for status, calls in (("committed", 1), ("provisional", 3), ("committed", 1), (CANARY, 0))
    ]
    metrics = Metrics()
    metrics.count_folds(FoldReport(tuple(done), "done"))
    samples = parsed(metrics.text())
    assert samples['previously_folds_total{outcome="committed"}'] == 2
    assert samples['previously_folds_total{outcome="other"}'] == 1
    assert samples["previously_fold_calls_total"] == 5


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/", "/"),
        ("/v1/chat/completions", "/v1/chat/completions"),
        ("/stories/12", "/stories/{number}"),
        ("/stories/{number}", "/stories/{number}"),
        ("/v1/models", "/v1/models"),
        ("/v1/models/someone's own", "/v1/models"),
        ("/stories/canary", "other"),
        ("/stories/١", "other"),
        ("/stories/1/canary", "other"),
        ("/canary", "other"),
        ("", "other"),
    ],
)
def test_routes_not_paths(path: str, route: str) -> None:
    assert find_route(path) == route


def test_labels_hold_nothing_that_was_not_known_beforehand() -> None:
    metrics = Metrics()
    for number in range(500):
        metrics.requests.add(route=f"/{CANARY}{number}", status=f"{CANARY}{number}")
    text = metrics.text()
    assert "canary" not in text
    assert parsed(text)['previously_requests_total{route="other",status="other"}'] == 500
    assert len(text) < 5_000


def test_parts_by_themselves() -> None:
    counter = CountMetric("a_total", "A.", way=("in", "out"))
    counter.add(way="in")
    counter.add(2.5, way="out")
    assert list(counter.lines()) == ['a_total{way="in"} 1', 'a_total{way="out"} 2.5']
    assert list(Gauge("b", "B.", lambda: 3).lines()) == ["b 3"]
    assert list(Histogram("c", "C.", [1]).lines())[:2] == ['c_bucket{le="1"} 0', 'c_bucket{le="+Inf"} 0']


async def test_they_are_asked_for_at_their_route() -> None:
    metrics = Metrics()
    metrics.turns.add()
    answer = await asked(Starlette(routes=[make_metrics_route(metrics)]), path="/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert parsed(answer.body.decode())["previously_turns_total"] == 1
