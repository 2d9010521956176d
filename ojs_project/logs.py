"""Log lines: one JSON object each, or text. Spec: contract 32.5.

The keys of `extra` have Python's names. The keys in MEMBERS, such as `job_id`, become members of
the line, all other keys its attributes.
"""

import logging
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import Any, Protocol

import orjson

from jobs.logs import Head, TextFormatter, extra_of, head_of

NUMBERS = {"DEBUG": 5, "INFO": 9, "WARNING": 13, "ERROR": 17, "CRITICAL": 21}
NAMES = {"WARNING": "WARN", "CRITICAL": "FATAL"}
MEMBERS = {
    "job_id": "ojs.job_id",
    "job_type": "ojs.job_type",
    "queue": "ojs.queue",
    "attempt": "ojs.attempt",
    "state": "ojs.state",
    "worker_id": "ojs.worker_id",
    "tenant_id": "ojs.tenant_id",
    "pool": "ojs.pool",
    "request_id": "request_id",
    "trace_id": "trace.trace_id",
    "span_id": "trace.span_id",
}
COMPONENTS = {"ojs.worker": "worker", "federation.client": "client"}  # all others: the server
CATEGORIES = {"ojs.worker": "worker", "ojs.audit": "security"}
WHOLE = 4096  # bytes that a pipe takes at once, without bytes of other processes between them


class Line(Protocol):
    """A line without a record of its own, as the loop `log` makes thousands."""

    @property
    def at(self) -> datetime:
        """The time of its event."""

    @property
    def level(self) -> int:
        """The number of its severity."""

    @property
    def name(self) -> str:
        """The message."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts by their Python names."""


class LineHandler(logging.StreamHandler[Any]):
    """Writes records to a stream, and many lines by few writes."""

    def write_lines(self, name: str, lines: Iterable[Line]) -> bool:
        """Write lines of a logger, in whole lines; False: only records can be written."""
        if self.filters or not isinstance(self.formatter, JsonFormatter | TextFormatter):
            return False
        line_of = self.formatter.line
        named: dict[int, str] = {}  # levels
        with self.lock or nullcontext():
            text: list[str] = []
            size = 0
            for one in lines:
                level = one.level
                if level < self.level:
                    continue
                if level not in named:
                    named[level] = logging.getLevelName(level)
                at = one.at
                head = Head(
                    at.timestamp(), at.microsecond // 1000, level, named[level], name, one.name
                )
                line = line_of(head, one.facts) + self.terminator
                length = len(line) if line.isascii() else len(line.encode(errors="replace"))
                if text and size + length > WHOLE:
                    self._write("".join(text))
                    text, size = [], 0
                text.append(line)
                size += length
            if text:
                self._write("".join(text))
        return True

    def _write(self, text: str) -> None:
        try:
            self.stream.write(text)
            self.flush()
        except Exception:
            self.handleError(logging.makeLogRecord({"msg": "lines of jobs"}))


class JsonFormatter(logging.Formatter):
    """Formats records as JSON, with their `extra` as members and attributes."""

    def format(self, record: logging.LogRecord) -> str:
        """Render a record in one line."""
        extra = extra_of(record)
        if record.exc_info:
            return self._line(head_of(record), extra, self.formatException(record.exc_info))
        return self.line(head_of(record), extra)

    def line(self, head: Head, facts: Mapping[str, Any]) -> str:
        """Render one line."""
        return self._line(head, facts)

    def _line(self, head: Head, facts: Mapping[str, Any], exception: str | None = None) -> str:
        at = datetime.fromtimestamp(head.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "timestamp": at.replace("+00:00", "Z"),
            "severity": NAMES.get(head.level_name, head.level_name),
            "severity_number": NUMBERS.get(head.level_name, 9),
            "message": head.message,
            "component": _of_logger(COMPONENTS, head.logger) or "server",
        }
        if category := _category(head, facts.get("category")):
            line["category"] = category
        attributes = {"logger": head.logger}
        for name, member in MEMBERS.items():
            if name in facts:
                line[member] = facts[name]
        for name, value in facts.items():
            if name not in MEMBERS and name != "category":
                attributes[name] = value
        line["attributes"] = attributes
        if exception is not None:
            line["exception"] = exception
        return orjson.dumps(line, default=str).decode()


def _category(head: Head, named: str | None) -> str | None:
    """Return the line's own category, else the category of its severity and its logger."""
    if named is None and head.level >= logging.WARNING:
        return "error"
    return named or _of_logger(CATEGORIES, head.logger)


def _of_logger(named: dict[str, str], name: str) -> str | None:
    """Return the entry of a logger or of a logger above it."""
    return next((named[one] for one in named if name == one or name.startswith(f"{one}.")), None)
