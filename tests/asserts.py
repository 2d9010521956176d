"""Assertions about jobs and the whole store, in the terms of the contract."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from uuid import UUID

from jobs import queries
from jobs.domain.errors import Conflict, OJSError
from jobs.domain.job import Job
from jobs.domain.record.events import Kind
from jobs.domain.states import CODES, TERMINAL, State, may, state_of
from jobs.models import Event, Finished, Hold, Later, Lease, Ready
from jobs.models import Job as Row
from jobs.services.read.show import show

FLAGGED = 9  # Finished.kind of a job in the dead letter


def state(job_id: str) -> State:
    """Return a job's state."""
    return state_of(show(job_id).state)


def assert_state(wanted: State, *job_ids: str) -> None:
    """Assert that all these jobs are in this state."""
    assert {job_id: state(job_id) for job_id in job_ids} == dict.fromkeys(job_ids, wanted)


def assert_refused(outcome: object, kind: type[OJSError] = Conflict, **details: object) -> None:
    """Assert that the service refused with this error and these details."""
    assert isinstance(outcome, kind), f"not refused: {outcome!r}"
    assert outcome.details | details == outcome.details


def assert_times_in_order(job: Job) -> None:
    """Assert that creation comes first, the end last, and an enqueue before a start.

    A job that waits again keeps the start of its last attempt, which is before its new entry.
    """
    known = [at for at in (job.enqueued_at, job.started_at, job.activated_at) if at is not None]
    assert all(job.created_at <= at for at in known)
    if job.finished_at is not None:
        assert all(at <= job.finished_at for at in (job.created_at, *known))
    if job.ran or job.state == CODES[State.ACTIVE]:
        assert job.enqueued_at is not None
        assert job.started_at is not None
        assert job.enqueued_at <= job.started_at


def assert_rows_stand_for_jobs() -> None:
    """Assert that live jobs have one narrow row, and ended jobs one entry of ended jobs.

    Design: the state of a live job is the narrow row that it has. An ended job has no narrow row. A
    hold exists for each limit of each lease.
    """
    narrow: dict[UUID, list[str]] = defaultdict(list)
    for table in (Ready, Lease, Later):
        for job_id in table.objects.values_list("id", flat=True):
            narrow[job_id].append(table.__name__)
    finished: dict[UUID, list[tuple[object, ...]]] = defaultdict(list)
    for ended in Finished.objects.all():
        finished[ended.id].append((ended.queue, ended.kind, ended.finished_at))
    for row in Row.objects.all():
        if row.state is None:
            assert len(narrow.pop(row.id, [])) == 1, f"{row.id} is live"
            assert row.finished_at is None
        else:
            kind = FLAGGED if row.dead_letter else row.state
            assert finished.pop(row.id, []) == [(row.queue, kind, row.finished_at)], f"{row.id}"
    assert not narrow, "narrow rows without a live job"
    leases = Lease.objects.exclude(limits=None).values_list("id", "limits")
    counted = {(limit, job_id) for job_id, ids in leases for limit in ids or ()}
    assert set(Hold.objects.values_list("limit_id", "job_id")) == counted
    assert not finished, "index entries without an ended job"


def removed_counts() -> list[int]:
    """Return the number of jobs of each removal by retention."""
    events = Event.objects.filter(kind=Kind.REMOVED, job_id=None)
    return [data["count"] for data in events.values_list("data", flat=True) if data]


def recount() -> dict[tuple[str, State], int]:
    """Count the jobs by queue and state, job by job."""
    ids = [str(job_id) for job_id in Row.objects.values_list("id", flat=True)]
    return Counter((job.queue, state_of(job.state)) for job in queries.jobs(ids).values())


def assert_depths_equal_recount() -> None:
    """Assert that the numbers of jobs by queue and state are exact. Spec: contract 10.3."""
    counted = {
        (queue, state_of(code)): number
        for queue, states in queries.depths().items()
        for code, number in states.items()
        if number
    }
    assert counted == recount()


def assert_loads_equal_recount() -> None:
    """Assert that the waiting jobs and bytes of each queue are exact. Spec: contract 27.4."""
    wanted: dict[str, queries.Load] = {}
    waits = {State.AVAILABLE, State.SCHEDULED, State.PENDING, State.RETRYABLE}
    ids = [str(job_id) for job_id in Row.objects.values_list("id", flat=True)]
    sizes = {str(job_id): size for job_id, size in Row.objects.values_list("id", "bytes")}
    for job in queries.jobs(ids).values():
        load = wanted.get(job.queue, queries.Load())
        if state_of(job.state) in waits:
            load = queries.Load(load.jobs + 1, load.bytes + sizes[job.id])
        wanted[job.queue] = load
    names = {*wanted, *queries.depths()}
    found = queries.loads(sorted(names))
    assert {name: found.get(name, queries.Load()) for name in names} == {
        name: wanted.get(name, queries.Load()) for name in names
    }


def assert_counts_have_not_drifted() -> None:
    """Assert that the counts have no drift. Design: ADR 0002."""
    assert queries.drifts() == []
    assert queries.size_drifts(None) == []


def events_of(job_ids: Iterable[str] | None = None) -> dict[str, list[Event]]:
    """Return the events of jobs by id, in the order of the record."""
    found: dict[str, list[Event]] = defaultdict(list)
    events = Event.objects.exclude(job_id=None).order_by("stamp", "seq")
    if job_ids is not None:
        events = events.filter(job_id__in=list(job_ids))
    for event in events:
        found[str(event.job_id)].append(event)
    return found


def replay(events: Iterable[Event]) -> State | None:
    """Replay the events of one job and return its last state; each step must be legal.

    Each step must start in the state in which the step before it ended.
    """
    current: State | None = None
    moving: State | None = None
    for event in events:
        if event.kind in {Kind.LEFT_QUEUE, Kind.CAME_TO_QUEUE}:
            # one statement writes both events: the job is in the same state in another queue
            left = event.kind == Kind.LEFT_QUEUE
            code = event.from_state if left else event.to_state
            assert code is not None
            assert (current if left else moving) is state_of(code)
            current, moving = (None, current) if left else (moving, None)
            continue
        if event.kind == Kind.RESTORED:
            assert event.to_state is not None
            assert event.from_state == (CODES[current] if current else None)
            current = state_of(event.to_state)
            continue
        if event.kind == Kind.REMOVED:
            assert current in TERMINAL
            assert event.from_state == CODES[current]
            current = None
            continue
        if event.to_state is None:
            assert event.from_state is None
            continue
        before = None if event.from_state is None else state_of(event.from_state)
        after = state_of(event.to_state)
        assert before is current, f"{event.job_id}: {after} from {before}, but it was {current}"
        assert may(before, after), f"{event.job_id}: {before} to {after} is not legal"
        current = after
    return current


def assert_events_replay() -> None:
    """Assert that the events of each job lead to its state by legal steps. Spec: contract 2.2."""
    events = events_of()
    for job_id in map(str, Row.objects.values_list("id", flat=True)):
        assert replay(events.pop(job_id, [])) is state(job_id)
    for job_id, of_gone in events.items():
        # a job that retention removed has no event of its own removal
        gone = {None, *TERMINAL}
        assert replay(of_gone) in gone, f"{job_id} is gone, its events do not say so"


def assert_store_is_sound() -> None:
    """Assert that rows, index, counts and events agree."""
    assert_rows_stand_for_jobs()
    assert_depths_equal_recount()
    assert_loads_equal_recount()
    assert_counts_have_not_drifted()
    assert_events_replay()
