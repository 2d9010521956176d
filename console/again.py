"""A job as a new request: the envelope, a command for curl and a call of its handler in Python."""

import keyword
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from jobs.api.schemas.jobs import JOB_REQUEST_MEMBERS
from jobs.api.wire.job_codec import encode_job
from jobs.api.wire.media import OJS_TYPE
from jobs.domain.access.classified import classification
from jobs.domain.job import Job
from ojs_tasks.arguments import split

MOST_BYTES: Final = 20_000  # of arguments and meta; a longer command suits no terminal
TENANT: Final = "tenant_id"  # of meta
# members of an envelope that belong to this job alone; a copy gets its own
OWN: Final = {
    "id",
    "scheduled_at",
    "expires_at",
    "delay",
    "delay_until",
    "pending",
    "trace_context",
}


@dataclass(frozen=True, slots=True)
class Again:
    """Texts that enqueue the job again; the key is a variable of the shell."""

    curl: str
    python: str


def request_of(job: Job) -> dict[str, Any]:
    """Return the body of a request that enqueues such a job now."""
    whole = orjson.loads(orjson.dumps(encode_job(job)))
    return {n: v for n, v in whole.items() if n in JOB_REQUEST_MEMBERS and n not in OWN}


def again(job: Job, address: str) -> Again | None:
    """Return the texts for a job; `address` is the URL to which jobs are sent.

    None for a classified job, whose arguments are hidden, and for very long arguments.
    """
    if classification(job) or len(job.args) + len(job.meta) > MOST_BYTES:
        return None
    body = request_of(job)
    return Again(_curl(body, address), _python(body))


def _curl(body: Mapping[str, Any], address: str) -> str:
    lines = (
        f"curl -X POST {shlex.quote(address)}",
        '-H "Authorization: Bearer $OJS_API_KEY"',
        f"-H {shlex.quote(f'Content-Type: {OJS_TYPE}')}",
        f"-d {shlex.quote(orjson.dumps(body).decode())}",
    )
    return " \\\n  ".join(lines)


def _python(body: Mapping[str, Any]) -> str:
    options = ", ".join(f"{name}={value!r}" for name, value in _options(body))
    call = f"handler.options({options}).enqueue({', '.join(_arguments(body['args']))})"
    return f"# handler is the function of the type {body['type']!r}\n{call}"


def _options(body: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the terms of the job that its handler does not define for all its jobs."""
    yield "queue", body["queue"]
    meta = dict(body.get("meta") or {})
    tenant = meta.pop(TENANT, None)
    given = {"tenant": tenant, "meta": meta}
    given |= {name: body.get(name) for name in ("priority", "tags", "version")}
    yield from ((name, value) for name, value in given.items() if value)


def _arguments(args: list[Any]) -> Iterator[str]:
    positions, named = split(args)
    if not isinstance(named, dict):  # of a producer that writes its own arguments
        positions, named = args, {}
    yield from map(repr, positions)
    if all(name.isidentifier() and not keyword.iskeyword(name) for name in named):
        yield from (f"{name}={value!r}" for name, value in named.items())
    else:
        yield f"**{named!r}"
