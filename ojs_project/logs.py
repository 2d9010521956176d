"""Log lines: one JSON object each, or text. Spec: contract 32.5.

The keys of `extra` have Python's names. The keys in MEMBERS, such as `job_id`, become members of
the line, all other keys its attributes.
"""

import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

NUMBERS = {"DEBUG": 5, "INFO": 9, "WARNING": 13, "ERROR": 17, "CRITICAL": 21}
NAMES = {"WARNING": "WARN", "CRITICAL": "FATAL"}
STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {
    "message", "asctime", "taskName", "category",
    "request",  # of Django: its text has the query, and a query may have a stream's key
}  # fmt: skip
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
PLAIN = re.compile(r"[^\s\"'=\\]+")  # a value that needs no quotes in a text line


class JsonFormatter(logging.Formatter):
    """Formats records as JSON, with their `extra` as members and attributes."""

    def format(self, record: logging.LogRecord) -> str:
        """Render one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        extra = dict(_extra(record))
        line = {
            "timestamp": at.replace("+00:00", "Z"),
            "severity": NAMES.get(record.levelname, record.levelname),
            "severity_number": NUMBERS.get(record.levelname, 9),
            "message": record.getMessage(),
            "component": _of_logger(COMPONENTS, record.name) or "server",
            **({"category": category} if (category := _category(record)) else {}),
            **{MEMBERS[name]: extra.pop(name) for name in MEMBERS if name in extra},
            "attributes": {"logger": record.name, **extra},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class TextFormatter(logging.Formatter):
    """Formats records as text, with their `extra` as `name=value` behind it."""

    def __init__(self) -> None:
        """Set the format of the first part."""
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base's name
        """Render the line, to which the base adds a traceback."""
        extra = (f"{name}={_plain(value)}" for name, value in _extra(record))
        return " ".join((super().formatMessage(record), *extra))


def _extra(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in record.__dict__.items() if name not in STANDARD)


def _category(record: logging.LogRecord) -> str | None:
    """Return the record's own category, else the category of its severity and its logger."""
    named: str | None = getattr(record, "category", None)
    if named is None and record.levelno >= logging.WARNING:
        return "error"
    return named or _of_logger(CATEGORIES, record.name)


def _of_logger(named: dict[str, str], name: str) -> str | None:
    """Return the entry of a logger or of a logger above it."""
    return next((named[one] for one in named if name == one or name.startswith(f"{one}.")), None)


def _plain(value: object) -> str:
    is_plain = isinstance(value, str) and PLAIN.fullmatch(value)
    return str(value) if is_plain else orjson.dumps(value, default=str).decode()
