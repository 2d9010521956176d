"""Decide with other regions which region keeps a job that both may have. ADR 19.

A job that was sent on after a lost answer names in its `meta` the regions that may have it. The
region that stores it also stores these doubts. It asks each other region as soon as that region is
healthy, until it answers.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any, Final

from federation.domain.config import FederationConfig
from federation.domain.delivery import Fate
from federation.domain.doubts import Claim, Outcome, encode, gives_up
from federation.domain.exchange import API, Call, Failure, Reply
from federation.domain.meta import FEDERATION_ID, IN_DOUBT
from federation.domain.region import Region
from federation.domain.replica import WAITS
from federation.models import Doubt
from federation.services.health import breakers
from federation.services.health.attend import Attendant, Store, is_well
from federation.services.health.breakers import Verdict
from federation.services.registry import outbound
from federation.services.registry.regions import registry
from federation.services.registry.registry import Registry
from federation.services.replication.conflicts import conflict
from federation.services.replication.standing import ACTOR, delete_doubts, standing
from jobs.database import atomic
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.job import Job
from jobs.domain.states import State
from jobs.domain.wire import jsonio
from jobs.services.outcome.cancel import end
from jobs.services.read.show import show_many
from jobs.services.record.emit import NewEvent, emit

PATH: Final = f"{API}/federation/give-up"
BATCH: Final = 200
PAUSE_S: Final = 30.0  # after an answer that was a refusal or unreadable
SOON_S: Final = 2.0  # after a temporary failure
OK: Final = 200


def note(stored: Mapping[str, JobDraft]) -> None:
    """Store the regions that may have just stored jobs, by job id; in that transaction.

    Jobs that are not in doubt cost no statement. Regions that are not registered here are left out:
    this server could not ask them.
    """
    doubtful = {job_id: draft for job_id, draft in stored.items() if draft.meta.get(IN_DOUBT)}
    if not doubtful or registry().config is None:
        return
    known = registry().regions.keys() - {registry().configured.local_region}
    rows = [
        Doubt(
            tenant=draft.tenant, federation_id=draft.meta[FEDERATION_ID], region=region,
            job_id=job_id,
        )
        for job_id, draft in doubtful.items()
        for region in sorted(known & set(draft.meta[IN_DOUBT]))
    ]  # fmt: skip
    Doubt.objects.bulk_create(
        sorted(rows, key=lambda one: (one.tenant, str(one.federation_id), one.region)),
        update_conflicts=True,
        unique_fields=["tenant", "federation_id", "region"],
        update_fields=["job_id"],
    )


class DoubtResolver(Attendant):
    """Asks healthy regions about jobs that they may have."""

    def __init__(self) -> None:
        """Begin without requests."""
        super().__init__()
        self._waiting: Counter[str] = Counter()
        self._not_before: dict[str, float] = {}  # of the monotonic clock

    def run_once(self) -> int:
        """Apply answers and ask healthy regions; returns the number of both.

        1. Read the regions in doubt; without any, return.
        2. Apply answers, each in one transaction, and send new claims in threads.
        """
        if registry().config is None and not self._busy:
            return 0
        self._waiting = Counter(Doubt.objects.values_list("region", flat=True).distinct())
        return super().run_once() if self._waiting or self._busy else 0

    def cache_clear(self) -> None:
        """Forget the pauses, and ask all regions again at once."""
        self._not_before.clear()

    def is_due(self, region: Region, known: Registry, config: FederationConfig) -> bool:
        """Return whether a region is in doubt and healthy."""
        if region.id == config.local_region or not region.enabled:
            return False
        is_asked = self._waiting[region.id] and is_well(known.health[region.id])
        return bool(is_asked) and monotonic() >= self._not_before.get(region.id, 0.0)

    def ask(self, region: Region, config: FederationConfig) -> Callable[[], Store] | None:
        """Read the doubts about a region, and get a permit of the breaker."""
        rows = list(Doubt.objects.filter(region=region.id).order_by("created_at")[:BATCH])
        permit = breakers.admit(region.id, config.breaker_rules) if rows else None
        if permit is None:
            return None
        claims = _claims(rows, config.local_region)
        body = {"region": config.local_region, "jobs": [encode(one) for one in claims]}
        call = Call(region.id, "POST", PATH, jsonio.dumps(body))

        def asked() -> Store:
            answer = outbound.send(region, call)

            def store() -> None:
                results = _results(answer, len(rows))
                self._heard(region.id, permit, answer, config)
                if not results and isinstance(answer, Reply):  # else the breaker counts it
                    is_refusal = answer.report.fate is Fate.ANSWERED
                    pause_s = PAUSE_S if is_refusal else SOON_S
                    self._not_before[region.id] = monotonic() + pause_s
                apply_answers(region.id, rows, results)

            return store

        return asked

    def _heard(
        self, region: str, permit: Any, answer: Reply | Failure, config: FederationConfig
    ) -> None:
        report = answer.report
        if not (isinstance(answer, Failure) and answer.is_own):
            failed = None if report.fate is Fate.ANSWERED else report.reason
            breakers.record_outcome(
                region, permit, Verdict(report.outcome, failed), config.breaker_rules
            )


def _claims(rows: Sequence[Doubt], local: str) -> list[Claim]:
    jobs = {job.id: job for job in show_many([str(one.job_id) for one in rows])}
    return [_claim(one, jobs.get(str(one.job_id)), local) for one in rows]


def _claim(row: Doubt, job: Job | None, local: str) -> Claim:
    ours = None if job is None else standing(job, local)
    return Claim(
        str(row.federation_id),
        row.tenant,
        str(row.job_id),
        row.created_at if ours is None else ours.enqueued_at,
        started=ours is None or ours.is_bound or ours.state not in WAITS,
    )


def _results(answer: Reply | Failure, number: int) -> list[tuple[Outcome, str]]:
    """Return outcomes and job ids of the other region; empty for an invalid answer."""
    body = answer.body if isinstance(answer, Reply) and answer.status == OK else None
    found = body.get("results") if isinstance(body, dict) else None
    if not isinstance(found, list) or len(found) != number:
        return []
    if not all(isinstance(one, dict) and one.get("outcome") in list(Outcome) for one in found):
        return []
    return [(Outcome(one["outcome"]), str(one.get("job_id"))) for one in found]


def apply_answers(
    region: str, rows: Sequence[Doubt], results: Sequence[tuple[Outcome, str]]
) -> None:
    """Apply the answers of a region: cancel our own jobs, or remove the doubts.

    Locks: the jobs that are cancelled, then the rows. A job that began after the claim was sent
    stays, and so does its doubt: the next claim reports that it was started.
    """
    if not results:
        return
    said = {str(row.job_id): (row, *result) for row, result in zip(rows, results, strict=True)}
    local = registry().configured.local_region
    with atomic():
        jobs = {job.id: job for job in show_many(sorted(said))}
        free = [
            job_id
            for job_id, (_, outcome, _) in said.items()
            if gives_up(outcome) and job_id in jobs and not standing(jobs[job_id], local).is_bound
        ]
        reason = f"stored in {region}, too"
        ended = (
            {row.id for row in end(sorted(free), ACTOR, reason, active=False)} if free else set()
        )
        events: list[NewEvent] = []
        for job_id, (row, outcome, other) in said.items():
            if outcome is Outcome.WINS and job_id in jobs and job_id not in ended:
                continue
            Doubt.objects.filter(pk=row.pk).delete()
            if job_id in ended:
                delete_doubts(row.tenant, [str(row.federation_id)])
            if job_id in jobs and (what := _became(jobs[job_id], outcome, job_id in ended, local)):
                events.append(conflict(jobs[job_id], str(row.federation_id), region, other, what))
        emit(events)


def _became(job: Job, outcome: Outcome, is_ended: bool, local: str) -> str | None:  # noqa: FBT001
    """Return the outcome of our job for the event, None for no event."""
    if is_ended:
        return "cancelled"
    was_cancelled = standing(job, local).state == State.CANCELLED
    if outcome in {Outcome.RAN, Outcome.KEPT} and not was_cancelled:
        return str(outcome)
    return None
