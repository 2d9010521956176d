"""Links of a job to its trace and its log lines in other systems, by templates in the settings."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final
from urllib.parse import quote, urlsplit

import orjson

from console.conf import conf
from jobs.domain.job import Job
from jobs.domain.wire.times import format_time
from jobs.domain.wire.tracing import trace_ids

PLACE: Final = re.compile(r"\{(\w+)\}")
TRACE, JOB = "trace_id", "job_id"
PLACES: Final = (JOB, TRACE, "from", "to", "from_ms", "to_ms")
MARGIN: Final = timedelta(minutes=1)  # before the creation and after the end: clocks differ
LONGEST: Final = 2_000  # characters of a template


def problem(template: str) -> str | None:
    """Return why a template makes no links; None if it does."""
    if len(template) > LONGEST:
        return f"must have at most {LONGEST} characters"
    if unknown := [name for name in PLACE.findall(template) if name not in PLACES]:
        known = ", ".join(f"{{{name}}}" for name in PLACES)
        return f"has the unknown placeholder {{{unknown[0]}}}: use {known}"
    try:
        parts = urlsplit(template)
    except ValueError:
        return "is not an address"
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        return "must begin with https:// or http:// and a host"
    if PLACE.search(parts.netloc):
        return "must have no placeholder in its host"
    return None


def of_job(job: Job, now: datetime) -> list[tuple[str, str]]:
    """Return label and address of the links of a job, without those whose values are unknown."""
    templates = (("Trace", conf().trace_url), ("Logs", conf().log_url))
    return list(_made(templates, _values(job, now))) if any(one for _, one in templates) else []


def _made(
    templates: tuple[tuple[str, str], ...], values: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    for label, template in templates:
        if template and problem(template) is None and set(PLACE.findall(template)) <= values.keys():
            yield label, PLACE.sub(lambda place: quote(values[place[1]], safe=""), template)


def _values(job: Job, now: datetime) -> dict[str, str]:
    since, until = job.created_at - MARGIN, (job.finished_at or now) + MARGIN
    values = {
        JOB: job.id,
        "from": format_time(since), "to": format_time(until),
        "from_ms": _ms(since), "to_ms": _ms(until),
    }  # fmt: skip
    traced = trace_ids(orjson.loads(job.meta).get("traceparent"))
    return values | ({TRACE: traced[0]} if traced else {})


def _ms(at: datetime) -> str:
    return str(int(at.timestamp() * 1000))
