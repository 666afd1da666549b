"""The figures of a server, in the text form that Prometheus reads.

No label holds anything that a user, a client or a model wrote. Every value that a label may have is known beforehand;
whatever else turns up is counted as `other`. So the text is of bounded size, and can be shown to whoever looks after
the machine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from previously import __version__
from previously.core.versions import Status
from previously.runtime.fold_report import FoldReport

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
OTHER = "other"

ROUTES = (
    "/", "/stories/{number}", "/healthz", "/readyz", "/metrics", "/v1/chat/completions", "/v1/completions",
    "/v1/embeddings", "/v1/models", "/v1/messages", "/v1/messages/count_tokens", "/v1/responses",
)  # fmt: skip
STATUSES = tuple(str(status) for status in range(100, 600))
MILLISECONDS = (1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000)


def find_route(path: str) -> str:
    """Return the route of a path, which may be counted and logged. A path itself may hold anything."""
    if path in ROUTES:
        return path
    head, _, number = path.rpartition("/")
    if head == "/stories" and number.isascii() and number.isdecimal():
        return "/stories/{number}"
    lists = ("/v1/models", "/v1/responses")
    return next((route for route in lists if path.startswith(f"{route}/")), OTHER)


class CountMetric:
    """Numbers that only grow, by the values of labels."""

    kind = "counter"

    def __init__(self, name: str, says: str, **labels: Sequence[str]) -> None:
        self.name: str = name
        self.says: str = says
        self._labels = {label: frozenset(values) for label, values in labels.items()}
        self._values: dict[tuple[str, ...], float] = {} if labels else {(): 0}

    def add(self, amount: float = 1, **labels: object) -> None:
        """Count so many more. Values of labels that are not known beforehand count as `other`."""
        values = [(str(labels[label]), known) for label, known in self._labels.items()]
        key = tuple(value if value in known else OTHER for value, known in values)
        self._values[key] = self._values.get(key, 0) + amount

    def value(self, **labels: object) -> float:
        return self._values.get(tuple(str(labels[label]) for label in self._labels), 0)

    def lines(self) -> Iterator[str]:
        for key in sorted(self._values):
            yield _line(self.name, dict(zip(self._labels, key, strict=True)), self._values[key])


class Gauge(CountMetric):
    """A number that comes and goes; or one that is asked for when somebody looks."""

    kind = "gauge"

    def __init__(self, name: str, says: str, ask: Callable[[], float] | None = None) -> None:
        super().__init__(name, says)
        self.ask = ask

    def lines(self) -> Iterator[str]:
        """Ask for the value of now, and yield its line."""
        if self.ask is not None:
            self._values[()] = self.ask()
        return super().lines()


class Histogram:
    """Counts how often a number was at most so much."""

    kind = "histogram"

    def __init__(self, name: str, says: str, bounds: Sequence[float]) -> None:
        self.name: str = name
        self.says: str = says
        self._bounds = sorted(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, number: float) -> None:
        self._counts[bisect_left(self._bounds, number)] += 1
        self._sum += number

    @property
    def count(self) -> int:
        return sum(self._counts)

    def lines(self) -> Iterator[str]:
        """Yield one line for each bound, and what they sum up to."""
        for bound, total in zip([*self._bounds, "+Inf"], accumulate(self._counts), strict=True):
            yield _line(f"{self.name}_bucket", {"le": bound if isinstance(bound, str) else f"{bound:g}"}, total)
        yield _line(f"{self.name}_sum", {}, self._sum)
        yield _line(f"{self.name}_count", {}, self.count)


class Metrics:
    """All that one server counts. Used by one event loop."""

    def __init__(self) -> None:
        self.requests: CountMetric = CountMetric(
            "previously_requests_total", "Requests answered.", route=ROUTES, status=STATUSES
        )
        self.open_streams: Gauge = Gauge("previously_open_streams", "Answers that are being streamed.")
        self.turns: CountMetric = CountMetric("previously_turns_total", "Turns of stories that were answered.")
        self.degraded: CountMetric = CountMetric(
            "previously_degraded_turns_total", "Turns without memory that will be remembered."
        )
        self.unsaved: CountMetric = CountMetric("previously_unsaved_turns_total", "Turns that nothing could keep.")
        self.unsaved_answers: CountMetric = CountMetric(
            "previously_unsaved_answers_total", "Answers that nothing could keep."
        )
        self.added_ms: Histogram = Histogram(
            "previously_added_milliseconds", "Time from a whole request to asking the upstream.", MILLISECONDS
        )
        outcomes = [status.value for status in Status]
        self.folds: CountMetric = CountMetric(
            "previously_folds_total", "Folds, by what became of them.", outcome=outcomes
        )
        self.fold_calls: CountMetric = CountMetric("previously_fold_calls_total", "Calls to a model for folds.")
        self.failed_folds: CountMetric = CountMetric(
            "previously_failed_folds_total", "Times that folding stopped with an error."
        )
        self.waiting: Gauge = Gauge("previously_waiting_turns", "Turns that wait to be remembered.")
        self.to_fold: Gauge = Gauge(
            "previously_stories_to_fold", "Stories that are looked at for folds, or wait for it."
        )

    def count_folds(self, report: FoldReport) -> None:
        for done in report.folds:
            self.folds.add(outcome=done.status)
        self.fold_calls.add(report.calls)

    def text(self) -> str:
        """Return all of it, as Prometheus reads it."""
        lines = ["# HELP previously_info The version.", "# TYPE previously_info gauge"]
        lines.append(_line("previously_info", {"version": __version__}, 1))
        for metric in vars(self).values():
            lines += [f"# HELP {metric.name} {metric.says}", f"# TYPE {metric.name} {metric.kind}", *metric.lines()]
        return "\n".join(lines) + "\n"


def make_metrics_route(metrics: Metrics) -> Route:
    async def show(_request: Request) -> Response:
        return Response(metrics.text(), headers={"content-type": CONTENT_TYPE, "cache-control": "no-store"})

    return Route("/metrics", show)


def _line(name: str, labels: Mapping[str, str], value: float) -> str:
    pairs = ",".join(f'{label}="{_escape_label(text)}"' for label, text in labels.items())
    number = str(int(value)) if value == int(value) else repr(float(value))
    return f"{name}{{{pairs}}} {number}" if pairs else f"{name} {number}"


def _escape_label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
