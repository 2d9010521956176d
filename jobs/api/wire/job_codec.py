"""Jobs: from the JSON of PUSH to a draft, and from a job to its envelope. Spec: contract 1, 3.3."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import orjson

from jobs.api.wire.members import list_of
from jobs.conf import conf
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.envelope import parse_job
from jobs.domain.errors import InvalidRequest
from jobs.domain.job import Job, ends_of
from jobs.domain.request_parser import RequestParser
from jobs.domain.states import CODES, State, state_of
from jobs.services.lanes.envelopes import limits

ACTIVE, AVAILABLE, RETRYABLE = (
    CODES[state] for state in (State.ACTIVE, State.AVAILABLE, State.RETRYABLE)
)
START = b'{"specversion":"1.0","id":"'  # of an envelope


def decode_job(body: Mapping[str, Any]) -> JobDraft:
    """Decode one PUSH request."""
    return parse_job(body, limits=limits())


def decode_batch(body: Mapping[str, Any]) -> list[Any]:
    """Return the raw jobs of a batch after checking their number."""
    return list_of(body, "jobs", conf().max_batch)


def batch_decoder() -> Callable[[object], JobDraft]:
    """Return a function that decodes the PUSH requests of one batch."""
    parse = RequestParser(limits()).parse

    def decode(item: object) -> JobDraft:
        if not isinstance(item, dict):
            raise InvalidRequest.field("jobs", "must hold objects", item)
        return parse(item)

    return decode


# --- answers --------------------------------------------------------------------------------------


def encode_job(job: Job, **more: Any) -> orjson.Fragment:
    """Encode an envelope. JSON members are inserted as stored, never parsed."""
    return orjson.Fragment(_envelope(job, more))


def job_answer(job: Job, **more: Any) -> bytes:
    """Write an answer about one job, wrapped and flat: each client reads one of the two forms.

    Spec: contract 24.6.
    """
    envelope = _envelope(job, more)
    return envelope[:-1] + b',"job":' + envelope + b"}"


def _envelope(job: Job, more: Mapping[str, Any]) -> bytes:
    shown: dict[str, Any] = {
        "specversion": "1.0",
        "id": job.id,
        "type": job.type,
        "queue": job.queue,
        "args": orjson.Fragment(job.args),
        "meta": orjson.Fragment(job.meta),
        "priority": job.priority,
        "state": state_of(job.state),
        "attempt": job.attempt,
        "max_attempts": job.max_attempts,
        "created_at": job.created_at,
    }
    _add_times(shown, job)
    _add_retry(shown, job)
    if job.error is not None:
        shown["error"] = orjson.Fragment(job.error)
    if job.errors is not None:
        shown["errors"] = orjson.Fragment(job.errors)
    if job.result is not None:
        shown["result"] = orjson.Fragment(job.result)
    if job.worker_id is not None and job.state == ACTIVE:
        shown["worker_id"] = job.worker_id
    if job.dead_letter is not None:
        shown["dead_letter"] = job.dead_letter
    if job.version is not None:
        shown["version"] = orjson.Fragment(job.version)
    _add_notices(shown, job)
    shown.update(more)
    return _splice(orjson.dumps(shown, option=orjson.OPT_UTC_Z), job.attributes)


class NewJobs:
    """Encodes jobs that were just stored: they differ in few members, so the rest is kept."""

    def __init__(self) -> None:
        """Begin without a job."""
        self._known: dict[tuple[Any, ...], tuple[bytes, bytes, Job]] = {}

    def encode(self, job: Job) -> orjson.Fragment:
        """Encode an envelope, as `encode_job` does."""
        if (
            job.state != AVAILABLE or job.attempt or job.deduplicated or job.expires_at
            or job.scheduled_at or job.version or job.warnings
            or type(job.args) is not bytes or type(job.meta) is not bytes
        ):  # fmt: skip
            return encode_job(job)
        key = (
            job.type, job.queue, job.priority, job.max_attempts, job.created_at,
            job.enqueued_at, id(job.attributes),
        )  # fmt: skip
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = (*_parts(job), job)
        between, behind, _ = known
        return orjson.Fragment(
            b'%b%b"%b%b,"meta":%b%b' % (START, job.id.encode(), between, job.args, job.meta, behind)
        )


def _parts(job: Job) -> tuple[bytes, bytes]:
    """Return the text of an envelope between its id and its arguments, and behind its meta."""
    text = _envelope(replace(job, args=b"[]", meta=b"{}"), {})
    between, _, behind = text[len(START) + len(job.id) + 1 :].partition(b'"args":[],"meta":{}')
    return between + b'"args":', behind


def _add_notices(shown: dict[str, Any], job: Job) -> None:
    if job.warnings:
        shown["warnings"] = list(job.warnings)
    if job.progress is not None:
        shown.update(orjson.loads(job.progress))


def _add_times(shown: dict[str, Any], job: Job) -> None:
    if job.enqueued_at is not None:
        shown["enqueued_at"] = job.enqueued_at
    if job.started_at is not None:
        shown["started_at"] = job.started_at
    if job.scheduled_at is not None:
        shown["scheduled_at"] = job.scheduled_at
    if job.expires_at is not None:
        shown["expires_at"] = job.expires_at
    if job.activated_at is not None:
        shown["activated_at"] = job.activated_at
    if job.finished_at is not None:
        shown.update(ends_of(job))


def _add_retry(shown: dict[str, Any], job: Job) -> None:
    if job.retry_delay_ms is not None:
        shown["retry_delay_ms"] = job.retry_delay_ms
    if job.state == RETRYABLE and job.due_at is not None:
        shown["next_attempt_at"] = job.due_at


def _splice(head: bytes, attributes: str | bytes) -> bytes:
    tail = attributes.encode() if isinstance(attributes, str) else attributes
    return head if tail == b"{}" else head[:-1] + b"," + tail[1:]


def encode_all(jobs: Iterable[Job]) -> list[orjson.Fragment]:
    """Encode envelopes in order."""
    return [encode_job(job) for job in jobs]
