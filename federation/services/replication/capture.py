"""Record changes of federated jobs of this region for the peers. Spec: contract 23.6.

Transitions write nothing for replication. The loop reads their events after a stored position. Each
changed job gets one new revision among the copies, however often it changed. See ADR 16.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from federation import queries
from federation.domain.config import Mode, Replication
from federation.domain.meta import ADOPTED_FROM, ADOPTED_JOB, FEDERATION_ID, REGION
from federation.domain.region import ID_PATTERN, MAX_ID
from federation.domain.replica import (
    ENDED,
    FOLLOWED,
    PINNED,
    Adoption,
    Replica,
    to_milliseconds,
)
from federation.models import FederatedJob, ReplicationPosition
from federation.queries import Changed
from federation.services.replication.merge import count, merge
from federation.services.replication.replication import ReplicationConfig, replication_config
from jobs.database import atomic
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from jobs.domain.wire import jsonio
from jobs.domain.wire.ids import is_id
from jobs.domain.wire.times import format_time
from jobs.extensions import checkpoints
from jobs.services.read.clock import now
from jobs.services.read.show import show_many

BATCH = 2_000  # events of a run


def capture(config: ReplicationConfig) -> int:
    """Read one batch of events and record their changes; returns how many were read.

    Locks: the row of the position, so that revisions follow each other; then the locks of `merge`.
    """
    with atomic():
        position = _position()
        read = queries.transitions(position.stamp, position.seq, config.local, BATCH)
        if not read.events:
            return 0
        replicas = _numbered(_replicas(read.changed, config), position.revision)
        if replicas:
            merged = merge(replicas, config.local)
            if conflicts := sum(one.is_conflict for one in merged):
                count(config.local, conflicts=conflicts)
            position.revision = replicas[-1].revision
        position.stamp, position.seq = read.stamp, read.seq
        position.save()
    return read.events


def unread_from() -> int | None:
    """Return the stamp of the first unread event, None if replication does not read events."""
    if replication_config() is None:
        return None
    position = ReplicationPosition.objects.filter(id=1).first()
    return position.stamp if position else 0


def _position() -> ReplicationPosition:
    found = ReplicationPosition.objects.select_for_update().filter(id=1).first()
    if found is None:  # the first run: the record is read from its beginning
        ReplicationPosition.objects.get_or_create(id=1)
        found = ReplicationPosition.objects.select_for_update().get(id=1)
    return found


def _numbered(replicas: Sequence[Replica], last: int) -> list[Replica]:
    """Give each revision its number, above the last and above numbers of a lost database."""
    if not replicas:
        return []
    first = max(last + 1, int(now().timestamp() * 1_000_000))
    return [replace(one, revision=first + n) for n, one in enumerate(replicas)]


def _replicas(changed: Sequence[Changed], config: ReplicationConfig) -> list[Replica]:
    jobs = {job.id: job for job in show_many([one.job_id for one in changed])}
    gone = _copies(config.local, [one.job_id for one in changed if one.job_id not in jobs])
    ahead = _adopted_times(jobs.values())
    moves = checkpoints.portable(list(jobs.values()))
    found = []
    for one in changed:
        if one.job_id in jobs:
            carried = moves.get(one.job_id)
            replica = replica_of(jobs[one.job_id], config.local, config.rules, carried)
            if replica is not None:
                found.append(_behind(replica, ahead))
        elif one.job_id in gone and one.to_state is not None:
            found.append(_ended(gone[one.job_id], one))
    return found


def replica_of(
    job: Job, local: str, rules: Replication, carried: Mapping[str, Any] | None = None
) -> Replica | None:
    """Return the replica of a job for peers, without its revision; None: it is not federated.

    `carried` are members with which a checkpointed job continues elsewhere.
    """
    meta = orjson.loads(job.meta)
    if not is_id(meta.get(FEDERATION_ID)):
        return None  # another use of this key by a client: stored, not replicated
    state = str(state_of(job.state))
    is_followed = job.watched and carried is None
    bound = PINNED if meta.get(REGION) is not None else FOLLOWED if is_followed else None
    return Replica(
        federation_id=meta[FEDERATION_ID],
        origin_region=local,
        job_id=job.id,
        tenant=job.tenant,
        type=job.type,
        queue=job.queue,
        state=state,
        priority=job.priority,
        attempt=job.attempt,
        created_at=job.created_at,
        # it stays constant for the life of the job, because the last writer wins by it
        enqueued_at=to_milliseconds(job.created_at),
        completed_at=job.finished_at if state in ENDED else None,
        revision=0,
        bound_to=bound,
        adopts=_adoption(meta),
        payload=_payload(job, meta, carried or {}) if _has_payload(bound, state, rules) else None,
    )


def _has_payload(bound: str | None, state: str, rules: Replication) -> bool:
    """Return whether the payload is sent: not of ended or followed jobs; of pinned jobs by rule."""
    if rules.mode is not Mode.FULL or state in ENDED or bound == FOLLOWED:
        return False
    return bound is None or rules.replicate_pinned_payload


def _payload(job: Job, meta: Mapping[str, Any], carried: Mapping[str, Any]) -> dict[str, Any]:
    envelope = {**jsonio.loads(_bytes(job.attributes)), **carried}
    state = state_of(job.state)
    at = job.due_at if state is State.RETRYABLE else job.scheduled_at
    if at is not None and state is not State.AVAILABLE:
        envelope["scheduled_at"] = format_time(at)
    if job.expires_at is not None:
        envelope["expires_at"] = format_time(job.expires_at)
    if job.version is not None:
        envelope["version"] = orjson.loads(job.version)
    if state is State.PENDING:
        envelope["pending"] = True
    return {"args": jsonio.loads(_bytes(job.args)), "meta": meta, "envelope": envelope}


def _bytes(text: str | bytes) -> bytes:
    return text.encode() if isinstance(text, str) else text


def _adoption(meta: Mapping[str, Any]) -> Adoption | None:
    region, job_id = meta.get(ADOPTED_FROM), meta.get(ADOPTED_JOB)
    if not isinstance(region, str) or len(region) > MAX_ID or not ID_PATTERN.fullmatch(region):
        return None
    return Adoption(region, str(job_id)) if is_id(job_id) else None


def _adopted_times(jobs: Any) -> dict[Adoption, datetime]:
    """Return the enqueue times of the jobs that these jobs replaced, from known copies."""
    wanted = {adoption for job in jobs if (adoption := _adoption(orjson.loads(job.meta)))}
    if not wanted:
        return {}
    rows = FederatedJob.objects.filter(
        origin_region__in={one.region for one in wanted}, job_id__in={one.job_id for one in wanted}
    ).values_list("origin_region", "job_id", "enqueued_at")
    found = {Adoption(region, str(job_id)): at.astimezone(UTC) for region, job_id, at in rows}
    return {one: found[one] for one in wanted if one in found}


def _behind(replica: Replica, ahead: Mapping[Adoption, datetime]) -> Replica:
    """Raise the time of an adopting job above the replaced job's, so that it wins."""
    if replica.adopts is None or replica.adopts not in ahead:
        return replica
    least = ahead[replica.adopts] + timedelta(milliseconds=1)
    return replace(replica, enqueued_at=max(replica.enqueued_at, least))


def _copies(region: str, ids: Sequence[str]) -> dict[str, FederatedJob]:
    if not ids:
        return {}
    found = FederatedJob.objects.filter(origin_region=region, job_id__in=ids)
    return {str(one.job_id): one for one in found}


def _ended(copy: FederatedJob, said: Changed) -> Replica:
    """Return the last revision of a removed job, from its last event."""
    assert said.to_state is not None  # noqa: S101 - asked before
    state = str(state_of(said.to_state))
    return Replica(
        federation_id=str(copy.federation_id),
        origin_region=copy.origin_region,
        job_id=str(copy.job_id),
        tenant=copy.tenant,
        type=copy.type,
        queue=copy.queue,
        state=state,
        priority=copy.priority,
        attempt=copy.attempt if said.attempt is None else said.attempt,
        created_at=copy.created_at,
        enqueued_at=copy.enqueued_at,
        completed_at=said.at if state in ENDED else None,
        revision=0,
        bound_to=copy.bound_to,
        adopts=Adoption(copy.adopts_region, str(copy.adopts_job)) if copy.adopts_region else None,
    )
