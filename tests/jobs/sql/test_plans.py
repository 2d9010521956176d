"""What every statement reads at volume, measured where it runs: also inside the functions.

No statement may read a growing table from end to end, and none may walk an index further than its
own batch needs. Both are counted by PostgreSQL itself, for plans made for these parameters, for
plans made for any, and for plans made while the tables were empty and kept when they had filled.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from jobs import queries
from jobs.domain.claim import ClaimPlan, LaneKey
from jobs.domain.errors import OJSError
from jobs.models import Depth, FoldPosition, LoopTick, Worker
from jobs.services import dead_letter, progress, promote
from jobs.services.ack import Ack, ack
from jobs.services.activate import activate
from jobs.services.cancel import cancel
from jobs.services.enqueue import enqueue
from jobs.services.events import EventFilter, event_id, events
from jobs.services.expire import expire
from jobs.services.fold import fold
from jobs.services.heal import heal
from jobs.services.health import health
from jobs.services.heartbeat import Report, heartbeat
from jobs.services.nack import Nack, nack
from jobs.services.queues import pause
from jobs.services.reset import reset
from jobs.services.show import show
from jobs.services.statistics import refresh_statistics
from tests.concurrency import wait_until_old_rows_are_dead
from tests.factories import DraftFactory, error, stored
from tests.jobs.sql.volume import (
    FINISHED,
    LATER,
    LEASE,
    PENDING,
    READY,
    SHAPES,
    STAMPS,
    analyze,
    job_id,
    load,
    touched_by,
)

pytestmark = pytest.mark.xdist_group("plans")

GROWING = {
    f"ojs_{name}"
    for name in (
        "job", "ready", "lease", "later", "finished", "event", "progress", "minute", "duration",
    )
}  # fmt: skip
FEW = 250  # rows of a small table, or index entries, that a call on ten jobs may read
SOME = 2_500  # the same for what counts, lists or repairs
BATCH = 10

# Reads that are bounded by other numbers than the jobs'.
MAY_READ: dict[str, int] = {
    "bury": SOME,  # workers
    "dead_letters": 10_000,  # counted up to the most that retention keeps per queue
    "depths": SOME,  # events since the last fold, queues
    "events": SOME,  # of a queue: what others did between
    "fold": SOME,  # events since the last fold
    "forget": SOME,  # workers
    "heal": 20_000,  # lanes
    "minutes": SOME,  # an hour of types
    "orphans": SOME,  # workers
    "outgrown": SOME,  # the catalogue
    "pause": SOME,  # answers with the numbers of the queue
    "unblock": 20_000,  # lanes
    "vitals": SOME,  # workers and queues
}


class Numbers:
    """Hands out jobs that no statement has touched yet."""

    def __init__(self) -> None:
        self.start()

    def start(self) -> None:
        """Begin anew, beyond the jobs that are due."""
        self._next = {READY: 5000, LEASE: 500, LATER: 5000, PENDING: 0, FINISHED: 0}

    def take(self, kind: int, number: int = BATCH) -> list[str]:
        """Return ids of this kind."""
        start = kind + self._next[kind]
        self._next[kind] += number
        return [job_id(n) for n in range(start, start + number)]


numbers = Numbers()


def claim(**plan: object) -> None:
    """Claim with a plan; without and with bounds."""
    facts = {"queues": ("q0",), "quotas": None, "limit": BATCH, **plan}
    for bounds in (queries.Hints(), queries.Hints([0], [0.0], [1], [0])):
        queries.claim(ClaimPlan(**facts), "w900", None, 1000, bounds)  # type: ignore[arg-type]


def discarded() -> str:
    """Return a discarded job: every third ended job is."""
    return numbers.take(FINISHED, 3)[2]


EARLIER = event_id(STAMPS // 2, 0, datetime.now(UTC))

CALLS: dict[str, Callable[[], object]] = {
    "activate": lambda: activate(numbers.take(PENDING, 1)[0]),
    "bury": lambda: queries.bury(60_000, 1000),
    "cancel ready": lambda: cancel(numbers.take(READY, 1)[0]),
    "cancel later": lambda: cancel(numbers.take(LATER, 1)[0]),
    "cancel lease": lambda: cancel(numbers.take(LEASE, 1)[0]),
    "claim": claim,
    "claim of a tenant": lambda: claim(tenant="t0"),
    "claim of routes": lambda: claim(routes=(0, 3)),
    "claim in a pool": lambda: claim(pool="p", pool_cap=100),
    "complete": lambda: ack([Ack(job_id, b"1", f"w{1}") for job_id in numbers.take(LEASE)]),
    "complete unheld": lambda: ack([Ack(job_id) for job_id in numbers.take(READY)]),
    "dead_letters": lambda: dead_letter.dead_letters(
        dead_letter.DeadLetterFilter(queue="q0"), limit=BATCH, offset=0
    ),
    "depths": queries.depths,
    "depths of a queue": lambda: queries.depths(["q0"]),
    "discard": expire,
    "enqueue": lambda: enqueue([DraftFactory.create(queue="q0") for _ in range(BATCH)]),
    "enqueue later": lambda: enqueue([DraftFactory.create(queue="q0", scheduled_at="+PT1H")]),
    "events after": lambda: events(EventFilter(), after=EARLIER, limit=BATCH),
    "events of a queue after": lambda: events(
        EventFilter(queues=("q0",)), after=EARLIER, limit=BATCH
    ),
    "events latest": lambda: events(EventFilter(), after=None, limit=BATCH),
    "events of a job": lambda: events(
        EventFilter(job_id=numbers.take(READY, 1)[0]), after=None, limit=BATCH
    ),
    "fail": lambda: nack([Nack(job_id, error()) for job_id in numbers.take(LEASE)]),
    "failures": lambda: queries.failures(numbers.take(LEASE)),
    "fold": fold,
    "forget": lambda: queries.forget(86_400_000, 1000),
    "fold_from_start": lambda: queries._rows("fold_from_start", {}),
    "heal": heal,
    "heartbeat": lambda: heartbeat(Report("w1", active_ids=tuple(numbers.take(LEASE)))),
    "jobs": lambda: [show(job_id(kind + 777)) for kind in (READY, LEASE, LATER, FINISHED)],
    "lanes": lambda: queries.lanes([LaneKey(f"q{n}", 0, "made") for n in range(BATCH)], {}),
    "minutes": lambda: queries.minutes("q0", 60),
    "next due": promote.due_in_ms,
    "orphans": lambda: queries.orphans(1000),
    "outgrown": refresh_statistics,
    "overdue": lambda: queries.overdue(1000),
    "pause": lambda: pause("paused", "test"),
    "progress": lambda: progress.report(numbers.take(LEASE, 1)[0], progress.Progress(0.5)),
    "promote": promote.promote,
    "remove": lambda: dead_letter.delete(discarded()),
    "requeue": lambda: nack([Nack(job_id, None, requeue=True) for job_id in numbers.take(LEASE)]),
    "revive": lambda: dead_letter.retry(discarded()),
    "tick": lambda: queries.tick("loop"),
    "unblock": heal,
    "vitals": health,
}

CLAIMS = [name for name in CALLS if name.startswith("claim")]
CUSTOM, GENERIC = "force_custom_plan", "force_generic_plan"


@pytest.fixture(scope="module")
def cleared(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Allow the database, and leave it as it was."""
    with django_db_blocker.unblock():
        reset()
        yield
        connection.close()  # with the mode and the plans
        reset()
        FoldPosition.objects.all().delete()
        LoopTick.objects.all().delete()


@pytest.fixture(scope="module", params=SHAPES)
def full(request: pytest.FixtureRequest, cleared: None) -> None:
    """Load a store and give the planner its statistics."""
    reset()
    numbers.start()
    load(SHAPES[request.param])
    analyze()


@pytest.fixture(scope="module")
def burst(cleared: None) -> None:
    """Use every statement in a store of a handful of jobs until its plan is kept, then fill it."""
    reset()
    connection.close()
    stored(5, queue="q0")
    analyze()
    set_mode(GENERIC)
    numbers.start()
    for _ in range(4):
        for call in CALLS.values():
            with suppress(OJSError, KeyError):  # most jobs that are named do not exist
                call()
    for model in (Worker, Depth):
        model.objects.all().delete()
    numbers.start()
    load(SHAPES["10,000 lanes of a queue"])


def set_mode(mode: str) -> None:
    """Choose how plans are made on this connection."""
    with connection.cursor() as cursor:
        cursor.execute(f"SET plan_cache_mode = {mode}")


def assert_reads_what_it_needs(name: str) -> None:
    """A call reads no growing table from end to end and no index further than its work needs."""
    if name in CLAIMS:  # those before have replaced the rows at the front
        wait_until_old_rows_are_dead()
    read = touched_by(CALLS[name])

    assert not read.scanned.keys() & GROWING, read.scanned
    most = MAY_READ.get(name.split(maxsplit=1)[0], FEW)
    assert max(read.scanned.values(), default=0) <= most, read.scanned
    assert max(read.entries.values(), default=0) <= most, read.entries


def test_every_statement_is_measured() -> None:
    files = {path.stem for path in (Path(queries.__file__).parent / "sql").glob("*.sql")}

    assert files - {"reset"} <= {name.split()[0] for name in CALLS}  # reset truncates


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", [CUSTOM, GENERIC])
def test_statement_at_volume_reads_what_it_needs(name: str, mode: str) -> None:
    set_mode(mode)

    assert_reads_what_it_needs(name)


@pytest.mark.usefixtures("burst")
@pytest.mark.parametrize("name", CLAIMS)
def test_claim_planned_while_empty_reads_what_it_needs(name: str) -> None:
    assert_reads_what_it_needs(name)


@pytest.mark.usefixtures("burst")
@pytest.mark.parametrize("name", CALLS)
def test_statement_planned_while_empty_is_right_after_one_look_at_the_sizes(name: str) -> None:
    refresh_statistics()

    assert_reads_what_it_needs(name)


@pytest.mark.usefixtures("full")
@pytest.mark.parametrize(
    ("name", "indexes"),
    [
        ("claim", {"ojs_lane_pick", "ojs_ready_order", "ojs_job_pkey"}),
        ("promote", {"ojs_later_due"}),
        ("overdue", {"ojs_lease_due"}),
        ("discard", {"ojs_ready_expires", "ojs_later_expires"}),
        ("complete", {"ojs_lease_pkey", "ojs_job_pkey"}),
        ("orphans", {"ojs_lease_worker"}),
        ("events of a job", {"ojs_event_job"}),
        ("events after", {"ojs_event_pkey"}),
        ("dead_letters", {"ojs_finished_pkey"}),
    ],
)
def test_statement_uses_the_index_that_was_made_for_it(name: str, indexes: set[str]) -> None:
    set_mode(GENERIC)

    assert indexes <= touched_by(CALLS[name]).entries.keys()
