"""Export files of jobs: CSV with chosen columns, or JSON lines with whole envelopes."""

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

import orjson

from console.columns import Column
from console.models import ExportPart, Operation
from jobs.api.wire.job_codec import encode_job
from jobs.domain.access.classified import classification
from jobs.domain.job import Job
from jobs.domain.wire.times import format_time

FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")  # beginnings that spreadsheets compute


class Format(StrEnum):
    """The extension of the file name."""

    CSV = "csv"
    LINES = "jsonl"


MEDIA: Final = {Format.CSV: "text/csv; charset=utf-8", Format.LINES: "application/x-ndjson"}


def head(columns: Sequence[Column]) -> bytes:
    """Return the first line of a CSV file."""
    return _csv([["id", "type", *(column.name for column in columns)]])


def lines(form: Format, columns: Sequence[Column], jobs: Sequence[Job]) -> bytes:
    """Return the lines of some jobs."""
    if form is Format.LINES:
        return b"".join(_envelope(job) + b"\n" for job in jobs)
    return _csv([job.id, job.type, *(column.value(job) for column in columns)] for job in jobs)


def _envelope(job: Job) -> bytes:
    """Return the envelope of a job; without its arguments and result if it is classified.

    A file may leave the server and its access control.
    """
    whole = orjson.dumps(encode_job(job))
    if classification(job) is None:
        return whole
    return orjson.dumps(
        {n: v for n, v in orjson.loads(whole).items() if n not in {"args", "result"}}
    )


def _csv(rows: Any) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows([[_cell(value) for value in row] for row in rows])
    return text.getvalue().encode()


def _cell(value: object) -> object:
    """Return a cell that a spreadsheet shows and does not compute."""
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return "" if value is None else value


def keep(operation: Operation, content: bytes) -> int:
    """Store one slice of the file; return its size in bytes."""
    if content:
        ExportPart.objects.create(
            operation=operation, number=operation.slices, content=gzip.compress(content, 6)
        )
    return len(content)


def read(operation: Operation) -> Iterator[bytes]:
    """Yield the file, one slice at a time."""
    numbers = list(
        ExportPart.objects.filter(operation=operation)
        .order_by("number").values_list("number", flat=True)
    )  # fmt: skip
    for number in numbers:
        part = ExportPart.objects.filter(operation=operation, number=number).first()
        if part is None:  # retention removed it during the read
            raise EOFError(f"export {operation.pk} is gone")
        yield zlib.decompress(part.content, wbits=31)


def name_of(operation: Operation) -> str:
    """Return the name of the file."""
    return f"jobs-{operation.started_at:%Y%m%d-%H%M%S}-{operation.pk}.{operation.options['format']}"
