"""One JSON object per log line. Spec: contract 32.5."""

import logging
from datetime import UTC, datetime

import orjson

NUMBERS = {"DEBUG": 5, "INFO": 9, "WARNING": 13, "ERROR": 17, "CRITICAL": 21}
NAMES = {"WARNING": "WARN", "CRITICAL": "FATAL"}
STANDARD = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Formats records with their `extra` members as attributes."""

    def format(self, record: logging.LogRecord) -> str:
        """Render one line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "timestamp": at.replace("+00:00", "Z"),
            "severity": NAMES.get(record.levelname, record.levelname),
            "severity_number": NUMBERS.get(record.levelname, 9),
            "message": record.getMessage(),
            "component": record.name,
            "attributes": {k: v for k, v in record.__dict__.items() if k not in STANDARD},
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()
