"""Log lines: one JSON object each, or text. Spec: contract 32.5.

What a record has as `extra` is named as in Python: `job_id` and the others of MEMBERS become
members of the line, the rest its attributes.
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
    "request",  # of Django: its text has the query, where a stream's key may be
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
COMPONENTS = {"ojs.worker": "worker", "federation.client": "client"}  # the others are the server
CATEGORIES = {"ojs.worker": "worker", "ojs.audit": "security"}
PLAIN = re.compile(r"[^\s\"'=\\]+")  # what stands in a text line without quotes


class JsonFormatter(logging.Formatter):
    """Formats records with their `extra` as members and attributes."""

    def format(self, record: logging.LogRecord) -> str:
        """Render one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        told = dict(_told(record))
        line = {
            "timestamp": at.replace("+00:00", "Z"),
            "severity": NAMES.get(record.levelname, record.levelname),
            "severity_number": NUMBERS.get(record.levelname, 9),
            "message": record.getMessage(),
            "component": _of_logger(COMPONENTS, record.name) or "server",
            **({"category": category} if (category := _category(record)) else {}),
            **{MEMBERS[name]: told.pop(name) for name in MEMBERS if name in told},
            "attributes": {"logger": record.name, **told},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


class TextFormatter(logging.Formatter):
    """Formats records as text, with their `extra` as `name=value` behind it."""

    def __init__(self) -> None:
        """Set what comes first."""
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - the base's name
        """Render the line, to which the base adds a traceback."""
        told = (f"{name}={_plain(value)}" for name, value in _told(record))
        return " ".join((super().formatMessage(record), *told))


def _told(record: logging.LogRecord) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in record.__dict__.items() if name not in STANDARD)


def _category(record: logging.LogRecord) -> str | None:
    """Return what a record says, else what follows from how bad it is and from who logs it."""
    named: str | None = getattr(record, "category", None)
    if named is None and record.levelno >= logging.WARNING:
        return "error"
    return named or _of_logger(CATEGORIES, record.name)


def _of_logger(known: dict[str, str], name: str) -> str | None:
    """Return what is known of a logger or of one above it."""
    return next((known[one] for one in known if name == one or name.startswith(f"{one}.")), None)


def _plain(value: object) -> str:
    is_plain = isinstance(value, str) and PLAIN.fullmatch(value)
    return str(value) if is_plain else orjson.dumps(value, default=str).decode()
