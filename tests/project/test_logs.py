"""The format of log lines. Spec: contract 32.5."""

import logging
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pytest
from django.test import RequestFactory

from jobs.logs import TextFormatter
from ojs_project.logs import WHOLE, JsonFormatter, LineHandler
from tests.spec import spec

AT = datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC)


def record(
    name: str = "ojs.test", level: int = logging.INFO, message: str = "it.was", **extra: Any
) -> logging.LogRecord:
    """Return a log record as a logger makes it."""
    return logging.getLogger(name).makeRecord(name, level, "", 0, message, (), None, extra=extra)


def as_json(made: logging.LogRecord) -> dict[str, Any]:
    """Format a record as JSON and parse the line."""
    line = JsonFormatter().format(made)
    assert "\n" not in line
    return dict(orjson.loads(line))


def as_text(made: logging.LogRecord) -> str:
    """Format a record as text, without its time."""
    return TextFormatter().format(made).split(" ", 2)[2]


@pytest.mark.parametrize(
    ("level", "severity", "number"),
    [
        (logging.DEBUG, "DEBUG", 5),
        (logging.INFO, "INFO", 9),
        (logging.WARNING, "WARN", 13),
        (logging.ERROR, "ERROR", 17),
        (logging.CRITICAL, "FATAL", 21),
    ],
)
@spec("contract 32.5")
def test_severities_have_their_numbers(level: int, severity: str, number: int) -> None:
    line = as_json(record(level=level))

    assert (line["severity"], line["severity_number"]) == (severity, number)


@pytest.mark.parametrize(
    ("name", "level", "component", "category"),
    [
        ("ojs.worker", logging.INFO, "worker", "worker"),
        ("ojs.worker", logging.ERROR, "worker", "error"),
        ("ojs.loops", logging.WARNING, "server", "error"),
        ("ojs.audit", logging.INFO, "server", "security"),
        ("ojs.federation", logging.WARNING, "server", "error"),
        ("federation.client.sync", logging.WARNING, "client", "error"),
        ("federation.clients", logging.INFO, "server", None),
    ],
)
@spec("contract 32.5")
def test_components_and_categories_follow_from_the_logger(
    name: str, level: int, component: str, category: str | None
) -> None:
    line = as_json(record(name, level))

    assert (line["component"], line.get("category")) == (component, category)


@spec("contract 32.5")
def test_a_category_that_is_named_counts() -> None:
    assert as_json(record(category="performance"))["category"] == "performance"


@spec("contract 32.5")
def test_known_facts_are_members_and_others_attributes() -> None:
    line = as_json(record(job_id="j", job_type="a.b", queue="q", trace_id="t", span_id="s", n=1))

    assert line["attributes"] == {"logger": "ojs.test", "n": 1}
    members = ("ojs.job_id", "ojs.job_type", "ojs.queue", "trace.trace_id", "trace.span_id")
    assert [line[name] for name in members] == ["j", "a.b", "q", "t", "s"]


@spec("contract 32.5")
def test_text_lines_tell_the_same() -> None:
    made = record(job_id="j", category="lifecycle", reason="two\nlines", queues=["a b"], n=1)

    assert as_text(made) == (
        r'INFO ojs.test it.was job_id=j reason="two\nlines" queues=["a b"] n=1'
    )


@pytest.mark.parametrize("text", ["", "a b", 'a"b', "a=b", "back\\slash", "tab\t", "\u2028"])
@spec("contract 32.5")
def test_a_value_cannot_pass_for_another(text: str) -> None:
    assert as_text(record(worker_id=text)) == (
        f"INFO ojs.test it.was worker_id={orjson.dumps(text).decode()}"
    )


@spec("contract 32.5")
def test_the_query_of_a_request_is_in_no_line() -> None:
    request = RequestFactory().get("/ojs/v1/events?access_token=ojs_secret")
    made = record("django.request", status_code=500, request=request)

    assert as_json(made)["attributes"] == {"logger": "django.request", "status_code": 500}
    assert as_text(made) == "INFO django.request it.was status_code=500"


@spec("contract 32.5")
def test_a_traceback_follows_text_and_stays_in_json() -> None:
    made = record(n=1)
    try:
        int("broken")
    except ValueError:
        made.exc_info = sys.exc_info()

    assert as_json(made)["exception"].endswith("'broken'")
    assert as_text(made).startswith("INFO ojs.test it.was n=1\nTraceback")


@dataclass(frozen=True)
class Given:
    """A line of a loop."""

    at: datetime
    level: int
    name: str
    facts: dict[str, Any]


LINES = [
    Given(AT, logging.INFO, "job.enqueued", {"category": "lifecycle", "job_id": "j", "attempt": 0}),
    Given(AT, logging.DEBUG, "job.started", {"job_id": "hidden"}),
    Given(AT + timedelta(seconds=61), logging.ERROR, "job.expired", {"queue": "q é", "n": [1]}),
    *(Given(AT, logging.WARNING, "it.was", {"reason": "x" * length}) for length in (10, 5000)),
    *(Given(AT, logging.INFO, "it.was", {"n": n, "queue": "a.b"}) for n in range(100)),
]


class Writes(list[str]):
    """A stream that keeps each write by itself."""

    write = list.append

    def flush(self) -> None:
        """Do nothing."""


def handler_of(formatter: logging.Formatter) -> tuple[LineHandler, Writes]:
    """Return a handler that leaves out DEBUG, and its stream."""
    writes = Writes()
    handler = LineHandler(writes)
    handler.setFormatter(formatter)
    handler.setLevel(logging.INFO)
    return handler, writes


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
@spec("contract 32.5")
def test_many_lines_equal_the_lines_of_their_records(formatter: logging.Formatter) -> None:
    (many, few), (one, each) = handler_of(formatter), handler_of(formatter)

    assert many.write_lines("ojs.lifecycle", LINES)
    for line in LINES:
        made = record("ojs.lifecycle", line.level, line.name, **line.facts)
        made.created, made.msecs = line.at.timestamp(), line.at.microsecond // 1000
        if made.levelno >= one.level:
            one.handle(made)

    assert "".join(few) == "".join(each)
    assert len(few) < len(each)
    assert all(len(text.encode()) <= WHOLE or text.count("\n") == 1 for text in few)


def test_a_handler_with_a_filter_or_another_format_takes_records_alone() -> None:
    filtered, writes = handler_of(TextFormatter())
    filtered.addFilter(lambda _: True)
    other, _ = handler_of(logging.Formatter())

    assert not filtered.write_lines("ojs.lifecycle", LINES)
    assert not other.write_lines("ojs.lifecycle", LINES)
    assert not writes
