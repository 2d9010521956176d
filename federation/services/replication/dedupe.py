"""One job for one federation id, however often it is sent. Spec: contract 23.3, 23.6.

The transaction that stores a job stores its federation id under a unique key. So a retry waits for
the first request and then finds its job. A request that was killed left neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from federation import queries
from federation.conf import conf
from federation.domain.errors import InvalidFederationMeta
from federation.domain.meta import (
    DEDUPE_HEADER,
    DEDUPLICATED_HEADER,
    FEDERATION_ID,
    IN_DOUBT,
    read_in_doubt,
)
from federation.queries import Key
from federation.services.replication import doubts
from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import InvalidRequest, Unsupported
from jobs.domain.wire.ids import is_id
from jobs.extensions import Deduplication

ASK: Final = "federation.dedupe"  # in Caller.asks
HEADER: Final = "HTTP_" + DEDUPE_HEADER.upper().replace("-", "_")
OFF, ALWAYS = "off", "always"
MODES: Final = ("header", ALWAYS, OFF)


def requested(headers: Mapping[str, Any]) -> Sequence[str]:
    """Return the options in the headers of a request. Raises InvalidRequest, Unsupported."""
    raw = headers.get(HEADER)
    if raw is None or raw == "0":
        return ()
    if raw != "1":
        raise InvalidRequest.field(DEDUPE_HEADER, "must be 1 or 0", raw[:100])
    if conf().dedupe == OFF:
        raise Unsupported(
            "this server does not remember federation ids",
            details={"field": DEDUPE_HEADER, "received": raw},
        )
    return (ASK,)


def asking(caller: Caller) -> Caller:
    """Return the caller with the option of one job per federation id.

    For jobs that come through /federation/jobs. The caller stays unchanged if the settings turn
    deduplication off.
    """
    return caller if conf().dedupe == OFF else insisting(caller)


def insisting(caller: Caller) -> Caller:
    """Return the caller with this option, regardless of the settings."""
    return replace(caller, asks=(*caller.asks, ASK))


def require_id(draft: JobDraft, caller: Caller) -> None:
    """Refuse a job whose repeats could not be detected. Raises InvalidFederationMeta.

    A job without a federation id is no federated job, and is stored as any other job.
    """
    named = draft.meta.get(FEDERATION_ID)
    if ASK in caller.asks and named is not None and not is_id(named):
        raise InvalidFederationMeta.field(
            f"meta.{FEDERATION_ID}",
            "must be a UUIDv7 in lower case: it identifies repeated requests",
            named,
        )
    if ASK in caller.asks:
        read_in_doubt(draft.meta.get(IN_DOUBT))


def of_request(drafts: Sequence[JobDraft], caller: Caller) -> Deduplication | None:
    """Return the detection of repeats for these jobs; None: not wanted. No SQL."""
    if ASK not in caller.asks and conf().dedupe != ALWAYS:
        return None
    named = {n: one.meta.get(FEDERATION_ID) for n, one in enumerate(drafts)}
    ids = {n: str(one) for n, one in named.items() if is_id(one)}
    return _Keys(drafts, ids, caller) if ids else None


class _Keys:
    """The federation ids of one request."""

    def __init__(self, drafts: Sequence[JobDraft], ids: Mapping[int, str], caller: Caller) -> None:
        self._drafts, self._caller = drafts, caller
        self._keys = {n: Key(drafts[n].tenant, one, drafts[n].id) for n, one in ids.items()}

    def find_stored(self) -> Mapping[int, str]:
        noted = queries.reserve(list(self._keys.values()), conf().dedupe_window_ms)
        first: dict[tuple[str, str], int] = {}
        found: dict[int, str] = {}
        for n, key in self._keys.items():
            job_id, is_new = noted[key.tenant, key.federation_id]
            is_first = first.setdefault((key.tenant, key.federation_id), n) == n
            # a client that chooses the ids of its jobs repeats the id, too
            if not (is_first and is_new and job_id == self._drafts[n].id):
                found[n] = job_id
        if found:
            self._caller.answer_headers[DEDUPLICATED_HEADER] = "true"
        return found

    def record(self, stored: Mapping[int, str | None]) -> None:
        changed = [
            self._keys[n]._replace(job_id=became)
            for n, became in stored.items()
            if n in self._keys and became != self._drafts[n].id
        ]
        if changed:
            queries.correct_keys(changed)
        doubts.note(
            {job_id: self._drafts[n] for n, job_id in stored.items() if job_id and n in self._keys}
        )
