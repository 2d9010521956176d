"""Log lines as text, also in projects whose `LOGGING` has no handler for these apps.

Without a handler, Python prints warnings as bare messages and no other lines.
"""

import logging
import re
import sys
from collections.abc import Callable, Mapping
from time import strftime
from typing import Any, Final, NamedTuple, TextIO

import orjson

from ojs_tasks.tracing import current_ids

OURS: Final = "ojs"  # above all loggers of these apps
STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message", "asctime", "taskName",
    "request",  # of Django: its text has the query, and a query may have a stream's key
}  # fmt: skip
PLAIN = re.compile(r"[^\s\"'=\\]+")  # a value that needs no quotes in a text line
PLAIN_TYPES = frozenset({str, int})


class Head(NamedTuple):
    """The parts of every line."""

    created: float
    msecs: float
    level: int
    level_name: str
    logger: str
    message: str


class TextFormatter(logging.Formatter):
    """Formats records as text, with their `extra` as `name=value` behind it."""

    def __init__(self) -> None:
        """Set the format of the first part."""
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")
        self._second = -1, ""  # many lines have the same

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base's name
        """Render the line, to which the base adds a traceback."""
        return self.line(head_of(record), extra_of(record))

    def line(self, head: Head, facts: Mapping[str, Any]) -> str:
        """Render one line."""
        second, text = self._second
        if second != int(head.created):
            second = int(head.created)
            text = strftime(self.default_time_format, self.converter(second))
            self._second = second, text
        return (
            f"{text},{int(head.msecs):03} {head.level_name} {head.logger} {head.message}"
            f"{_facts(facts)}"
        )


class Fallback(logging.Handler):
    """Writes lines to stderr, but none if the root logger has handlers: these write it then."""

    def __init__(self, job_id: Callable[[], str | None] = lambda: None) -> None:
        """Take a function that returns the id of the job that this thread runs."""
        super().__init__()
        self._job_id = job_id
        self.setFormatter(TextFormatter())

    @property
    def stream(self) -> TextIO:
        """The stderr of now: a test or a daemon may replace it."""
        return sys.stderr

    def filter(self, record: logging.LogRecord) -> Any:
        """Leave out what the project's own handlers write, and Django's lines, as Python does."""
        others = [one for one in logging.root.handlers if one is not self]
        return not others and not record.name.startswith("django") and super().filter(record)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, with the id of the running job unless the line has one."""
        try:
            if not hasattr(record, "job_id") and (job_id := self._job_id()):
                record.job_id = job_id
            self.stream.write(f"{self.format(record)}\n")
            self.stream.flush()
        except Exception:
            self.handleError(record)


def use_fallback() -> None:
    """Give the loggers of these apps a handler if the project's `LOGGING` gives them none."""
    ours = logging.getLogger(OURS)
    if not (ours.handlers or logging.root.handlers):
        ours.addHandler(Fallback())


def use_fallback_for_all(job_id: Callable[[], str | None]) -> None:
    """Give all loggers of this process a handler if the project's `LOGGING` gives them none.

    For commands of these apps. Their own lines are written from the level INFO on, unless the
    project sets another level.
    """
    ours = logging.getLogger(OURS)
    if logging.root.handlers or [one for one in ours.handlers if not isinstance(one, Fallback)]:
        return
    logging.root.addHandler(Fallback(job_id))
    if ours.level == logging.NOTSET:
        ours.setLevel(logging.INFO)


def head_of(record: logging.LogRecord) -> Head:
    return Head(
        record.created,
        record.msecs,
        record.levelno,
        record.levelname,
        record.name,
        record.getMessage(),
    )


def extra_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the facts of a record, with the current span unless it names a trace."""
    facts = {name: value for name, value in record.__dict__.items() if name not in STANDARD}
    if "trace_id" not in facts and (ids := current_ids()):
        facts["trace_id"], facts["span_id"] = ids
    return facts


def _facts(facts: Mapping[str, Any]) -> str:
    """Render facts; in most lines one look at the whole text proves that all of them are plain."""
    if PLAIN_TYPES.issuperset(map(type, facts.values())):
        shown = [f" {name}={value}" for name, value in facts.items() if name != "category"]
        text = "".join(shown)
        if _are_plain(text, len(shown)):
            return text
    return "".join(
        [f" {name}={_plain(value)}" for name, value in facts.items() if name != "category"]
    )


def _are_plain(text: str, number: int) -> bool:
    return (
        text.isprintable()  # no space but U+0020
        and text.count(" ") == text.count("=") == number
        and '"' not in text
        and "'" not in text
        and "\\" not in text
        and "= " not in text
        and not text.endswith("=")
    )


def _plain(value: object) -> str:
    is_plain = isinstance(value, str) and PLAIN.fullmatch(value)
    return str(value) if is_plain else orjson.dumps(value, default=str).decode()
