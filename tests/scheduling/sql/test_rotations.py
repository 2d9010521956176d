"""The claim's queue rotation compared with a model that decides slot by slot. Spec: FS 7, 8."""

from dataclasses import dataclass, field
from itertools import count, pairwise
from math import inf
from random import Random
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django.plugin import DjangoDbBlocker

from jobs import queries
from jobs.domain.dispatch.claim import ClaimPlan, QueueRotation, Strategy
from jobs.services.operate.queues import pause, resume
from jobs.services.upkeep.reset import clear_caches
from tests.effort import examples
from tests.factories import stored_ids
from tests.spec import spec

QUEUES = ("a", "b", "c", "d")
EXAMPLES = settings(
    max_examples=examples(12),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)


Place = tuple[str, int]  # queue and priority of a job


@dataclass
class Model:
    """Decides by the wording of contract 20.4 and 20.5.

    `active` has the queues that count as non-empty, and `jobs` their priorities: from the first
    stored job until a turn finds no job.
    """

    strategy: Strategy
    weights: tuple[int, ...]
    is_global: bool = False
    is_narrow: bool = False  # claims of a tenant cannot see that a queue is empty for others
    seq: int = 0
    floor: float = 0.0
    jobs: list[dict[int, int]] = field(default_factory=lambda: [{} for _ in QUEUES])
    paused: set[int] = field(default_factory=set)
    served: list[int] = field(default_factory=lambda: [0] * len(QUEUES))
    vts: list[float] = field(default_factory=lambda: [0.0] * len(QUEUES))
    active: set[int] = field(default_factory=set)
    was_open: set[int] = field(default_factory=set)

    def fill(self, q: int, number: int, priority: int) -> None:
        self.jobs[q][priority] = self.jobs[q].get(priority, 0) + number
        self.active.add(q)

    def take(self, count: int) -> list[Place]:
        asked = self.active - self.paused
        stayed = [self.vts[q] for q in asked & self.was_open]
        for q in asked - self.was_open:
            self.vts[q] = max(self.vts[q], min(stayed, default=self.floor))
        order: list[Place] = []
        while asked and len(order) < count:
            q = min(self.rivals(asked), key=lambda q: (self.key(q), q))
            priority = max(self.jobs[q])
            if not self.jobs[q][priority]:
                del self.jobs[q][priority]
                if not self.jobs[q]:
                    asked.remove(q)
                    self.active.remove(q)
                continue
            self.serve(q, priority)
            order.append((QUEUES[q], priority))
        if order:
            self.was_open = asked | (self.was_open if self.is_narrow else set())
        return order

    def rivals(self, asked: set[int]) -> set[int]:
        best = max(max(self.jobs[q]) for q in asked)
        return {q for q in asked if not self.is_global or max(self.jobs[q]) == best}

    def key(self, q: int) -> float:
        return {
            Strategy.STRICT: 0,
            Strategy.ROUND_ROBIN: self.served[q],
            Strategy.WEIGHTED: self.vts[q],
            Strategy.LEAST_LOADED: -sum(self.jobs[q].values()),
        }[self.strategy]

    def serve(self, q: int, priority: int) -> None:
        self.seq += 1
        self.jobs[q][priority] -= 1
        self.served[q] = self.seq
        self.floor = max(self.floor, self.vts[q])
        self.vts[q] += 1 / self.weights[q]


names = count(1)


def fresh(strategy: Strategy, weights: tuple[float, ...], **more: Any) -> QueueRotation:
    """Return a rotation that no claim has used, whose queues are new and named by its key."""
    return QueueRotation(f"p{next(names)}", strategy, weights, **more)


def named(rotation: QueueRotation, q: int) -> str:
    return f"{rotation.key}.{QUEUES[q]}"


def places(rotation: QueueRotation, count: int, **plan: Any) -> list[Place]:
    queues = tuple(named(rotation, q) for q in range(len(QUEUES)))
    claim = ClaimPlan(queues, count, rotation=rotation, **plan)
    found = queries.claim(claim, queries.Claimer(), 60_000, queries.Hints())
    return [(job.queue[-1], job.priority) for job in found.jobs]


def taken(rotation: QueueRotation, count: int) -> str:
    return "".join(queue for queue, _ in places(rotation, count))


STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("fill"), st.integers(0, 3), st.integers(1, 12), st.sampled_from([-1, 0, 0, 5])
        ),
        st.tuples(st.just("take"), st.integers(1, 15)),
        st.tuples(st.just("switch"), st.integers(0, 3)),
    ),
    min_size=4,
    max_size=16,
)


@pytest.mark.parametrize("tenant", [None, "_default"], ids=["any", "of a tenant"])
@pytest.mark.parametrize("is_global", [False, True], ids=["queue", "global"])
@pytest.mark.parametrize("strategy", Strategy)
@spec("fair-scheduling 7", "D-FS-5")
def test_any_sequence_of_fetches_takes_the_turns_of_the_model(
    strategy: Strategy, tenant: str | None, store: None, *, is_global: bool
) -> None:
    @EXAMPLES
    @given(
        steps=STEPS,
        weights=st.tuples(*[st.sampled_from([1, 2, 3, 7, 64]) for _ in QUEUES]),
    )
    def check(steps: list[Any], weights: tuple[int, ...]) -> None:
        model = Model(strategy, weights, is_global, is_narrow=tenant is not None)
        turns = fresh(strategy, tuple(map(float, weights)), is_global=is_global)
        for step in [*steps, ("take", 60)]:
            if step[0] == "fill":
                stored_ids(step[2], queue=named(turns, step[1]), priority=step[3])
                model.fill(*step[1:])
            elif step[0] == "switch":
                (resume if step[1] in model.paused else pause)(named(turns, step[1]))
                model.paused ^= {step[1]}
            else:
                assert places(turns, step[1], tenant=tenant) == model.take(step[1])

    check()


@pytest.mark.parametrize("ratio", [0.05, 0.1, 0.25])
@pytest.mark.parametrize("strategy", [Strategy.STRICT, Strategy.WEIGHTED])
@spec("FS-8.2-a")
def test_whatever_happens_a_backlogged_queue_has_its_share(
    strategy: Strategy, ratio: float, store: None
) -> None:
    period = round(1 / ratio)

    @settings(EXAMPLES, max_examples=examples(6))
    @given(
        steps=st.lists(
            st.tuples(st.integers(0, 3), st.integers(0, 40), st.integers(1, 25)),
            min_size=3,
            max_size=12,
        )
    )
    def check(steps: list[tuple[int, int, int]]) -> None:
        rotation = fresh(strategy, (1000.0, 10.0, 1.0, 1.0), ratio=ratio, rotation_ms=3_600_000)
        waits = [0] * len(QUEUES)  # turns that other queues got while it had jobs
        jobs = [0] * len(QUEUES)
        for q, number, size in [(0, 60, 1), (1, 60, 1), *steps]:
            if number:
                stored_ids(number, queue=named(rotation, q))
                jobs[q] += number
            names = taken(rotation, size)
            assert len(names) == min(size, sum(jobs))
            for name in names:
                for other in range(len(QUEUES)):
                    is_its = QUEUES[other] == name
                    waits[other] = 0 if is_its or not jobs[other] else waits[other] + 1
                    assert waits[other] < period
                jobs[QUEUES.index(name)] -= 1

    check()


def order(strategy: Strategy, limit: int, keys: list[float], **more: Any) -> list[int]:
    """Call the stored function."""
    facts: dict[str, Any] = {
        "rooms": [None] * len(keys), "weights": [1.0] * len(keys), "ratio": None,
        "since": [0] * len(keys), "overdue": [False] * len(keys), "seq": 0,
        "level_queues": None, "level_ends": None, "level_ranks": None, **more,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT ojs_turns(%s::smallint, %s::int, %s::int[], %s::float8[], %s::float8[],"
            " %s::float8, %s::bigint[], %s::boolean[], %s::bigint, %s::int[], %s::int[],"
            " %s::smallint[])",
            [int(strategy), limit, facts["rooms"], keys, facts["weights"], facts["ratio"],
             facts["since"], facts["overdue"], facts["seq"],
             facts["level_queues"], facts["level_ends"], facts["level_ranks"]],
        )  # fmt: skip
        found: list[int] = cursor.fetchone()[0]
    return found


@pytest.fixture(autouse=True)
def database(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> object:
    """Let the tests use the database."""
    with django_db_blocker.unblock():
        yield
    clear_caches()


@pytest.mark.parametrize(
    ("queues", "ratio"), [(2, 0.5), (2, 0.1), (3, 0.05), (3, 1 / 3), (10, 0.1), (20, 0.05)]
)
@pytest.mark.parametrize("strategy", [Strategy.STRICT, Strategy.WEIGHTED])
@spec("FS-8.2-a")
def test_the_guarantee_holds_over_thousands_of_turns(
    strategy: Strategy, queues: int, ratio: float
) -> None:
    weights = [1000.0, *[1.0] * (queues - 1)]
    keys = [float(n) for n in range(queues)] if strategy is Strategy.STRICT else [0.0] * queues

    found = order(strategy, 4000, keys, weights=weights, ratio=ratio)

    assert len(found) == 4000
    for queue in range(1, queues + 1):
        places = [n for n, one in enumerate(found) if one == queue]
        assert all(later - before <= 1 / ratio + 1e-9 for before, later in pairwise(places))


@spec("FS-8.2")
def test_ten_times_a_tenth_counts_as_one() -> None:
    found = order(Strategy.STRICT, 30, [1.0, 2.0], ratio=0.1, since=[0, 0])

    assert [n for n, one in enumerate(found) if one == 2] == [8, 17, 26]


@spec("FS-8.1")
def test_overdue_queues_come_first_the_longest_waiting_before_others() -> None:
    found = order(
        Strategy.STRICT, 4, [1.0, 2.0, 3.0], ratio=0.0, since=[9, 3, 5],
        overdue=[False, True, True], seq=10,
    )  # fmt: skip

    assert found == [2, 3, 1, 1]


def slot_by_slot(
    strategy: Strategy, limit: int, keys: list[float], weights: list[float], rooms: list[int | None]
) -> list[int]:
    """Decide each slot by comparing all queues."""
    found: list[int] = []
    keys = list(keys)
    left = [inf if room is None else room for room in rooms]
    for slot in range(1, limit + 1):
        rivals = [q for q in range(len(keys)) if left[q] > 0]
        if not rivals:
            break
        best = min(rivals, key=lambda q: (keys[q], q))
        found.append(best + 1)
        left[best] -= 1
        if strategy is Strategy.ROUND_ROBIN:
            keys[best] = slot
        elif strategy is Strategy.WEIGHTED:
            keys[best] += 1 / weights[best]
        elif strategy is Strategy.LEAST_LOADED:
            keys[best] += 1
    return found


@pytest.mark.parametrize(
    ("queues", "limit"), [(100, 50), (100, 11), (30, 100), (21, 50), (2, 600), (1, 1001)]
)
@pytest.mark.parametrize("steps", [(1,), (1, 2, 3, 7, 64), (1, 1000)])
@pytest.mark.parametrize("stock", ["any", "little", "some are empty"])
@pytest.mark.parametrize("strategy", Strategy)
@spec("fair-scheduling 7")
def test_many_slots_of_many_queues_are_decided_as_slot_by_slot(
    strategy: Strategy, queues: int, limit: int, steps: tuple[int, ...], stock: str
) -> None:
    chance = Random(f"{strategy} {queues} {limit} {steps} {stock}")  # noqa: S311 - repeatable
    weights = [float(chance.choice(steps)) for _ in range(queues)]
    rooms: list[int | None] = [None] * queues
    if stock == "little":
        rooms = [chance.choice([None, 1, 2, 3]) for _ in range(queues)]
    elif stock == "some are empty":
        rooms = [chance.choice([None, 0]) for _ in range(queues)]
    keys = {
        Strategy.STRICT: [float(q + 1) for q in range(queues)],
        Strategy.ROUND_ROBIN: [float(-chance.randrange(queues)) for _ in range(queues)],
        # some queues are level, some behind, as after turns with these weights
        Strategy.WEIGHTED: [chance.randrange(4) / weight for weight in weights],
        Strategy.LEAST_LOADED: [-float(chance.randrange(1, 40)) for _ in range(queues)],
    }[strategy]

    found = order(strategy, limit, keys, weights=weights, rooms=rooms)

    assert found == slot_by_slot(strategy, limit, keys, weights, rooms)


def levels(*found: tuple[int, int | None, int]) -> dict[str, list[int | None]]:
    """Return levels: each is a queue, a maximum number of jobs, and their rank."""
    queues, ends, ranks = zip(*found, strict=True)
    return {"level_queues": [*queues], "level_ends": [*ends], "level_ranks": [*ranks]}


@spec("D-FS-5")
def test_the_smallest_rank_of_all_comes_first_and_equals_take_turns() -> None:
    known = levels((1, 2, -5), (2, None, 0), (3, 1, -5), (1, None, 0), (3, None, -1))

    found = order(Strategy.ROUND_ROBIN, 8, [0.0] * 3, rooms=[None, None, 3], **known)

    assert found == [1, 3, 1, 3, 3, 2, 1, 2]


@spec("D-FS-5")
def test_an_owed_queue_comes_before_a_better_priority() -> None:
    known = levels((1, None, -5), (2, None, 0))

    assert order(Strategy.STRICT, 9, [1.0, 2.0], ratio=0.25, **known) == [1, 1, 2] * 3


def test_turns_end_when_all_queues_are_empty() -> None:
    assert order(Strategy.WEIGHTED, 9, [0.0, 0.0], rooms=[2, 1]) == [1, 2, 1]
    assert order(Strategy.ROUND_ROBIN, 9, [0.0, 0.0], rooms=[0, 0]) == []
