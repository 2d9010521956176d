"""Explanations of pools compared with their claims, in random stores. Spec: contract 20.5.

tests/jobs/services/dispatch/test_explain_agrees.py compares the core's own gates. Its steps are
mixed with steps of pools here.
"""

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jobs import queries
from jobs.domain.dispatch.claim import STRATEGIES, FetchRequest
from jobs.domain.dispatch.explanation import Explanation
from jobs.domain.dispatch.gates import Gate
from jobs.models import Job
from jobs.services.dispatch.fetch import fetch, low_water_marks
from jobs.services.operate.queues import pause
from jobs.services.read.show import show
from jobs.services.upkeep.reset import reset
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling import models
from scheduling.domain.pool_request import parse_pool
from scheduling.services import pools
from tests.effort import examples
from tests.factories import stored_ids
from tests.jobs.services.dispatch import test_explain_agrees as core
from tests.jobs.services.dispatch.test_explain_agrees import (
    QUEUE,
    STEPS,
    TENANTS,
    end_some,
    explained,
)
from tests.scheduling.pools import of_tenant
from tests.spec import spec

pytestmark = pytest.mark.usefixtures("store")

NAMES = ("p", "q", "r", "default")
QUEUES = (QUEUE, "x", "y", "z")
SETTINGS = settings(
    max_examples=examples(15),
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
seen: Counter[str] = Counter()


def define(name: str, **body: Any) -> None:
    """Store a pool."""
    pools.put(parse_pool(name, body))


def claim(pool: str | None, count: int = 1, *queues: str) -> list[str]:
    """Claim as a worker of a pool, without the low-water marks of earlier claims."""
    low_water_marks.clear()
    request = FetchRequest(queues, count=count, pool=pool)
    return [job.id for job in fetch(request).jobs]


def live(pool: str | None) -> None:
    heartbeat(Report(f"of {pool}", pool=pool))


def crowd(name: str, cap: int, isolated: bool, lives: bool) -> None:
    """Fill a pool to its cap, with a live worker or none, while more jobs wait."""
    define(name, concurrency=cap, isolated=isolated, queues=[QUEUE, "x"])
    if lives:
        live(name)
    stored_ids(cap + 2, queue=QUEUE)
    claim(name, cap, QUEUE)


few = st.integers(0, 3)
POOL_STEPS: st.SearchStrategy[tuple[Any, ...]] = st.one_of(
    st.tuples(st.just(lambda name, cap, isolated, has: define(
        name, concurrency=cap, isolated=isolated, queues=[QUEUE] * has + ["x"])),
        st.sampled_from(NAMES), st.sampled_from([None, 1, 1, 2]), st.booleans(),
        st.sampled_from([0, 1, 1, 1])),
    st.tuples(st.just(lambda name, count: claim(name, count, QUEUE)),
        st.sampled_from(NAMES), st.integers(1, 3)),
    st.tuples(st.just(live), st.sampled_from([*NAMES, None, "nowhere"])),
    st.tuples(st.just(end_some), few),
    *[st.tuples(st.just(crowd), st.sampled_from(NAMES), st.integers(1, 2), st.booleans(),
        st.booleans())] * 2,
)  # fmt: skip


def pool_gates(found: Explanation) -> dict[str | None, Gate]:
    return {gate.name: gate for gate in found.gates if gate.gate == "pool"}


def may(found: Explanation, pool: str) -> bool:
    """Return whether the explanation lets workers of a pool get the job."""
    gates = pool_gates(found)
    if pool in gates:
        return gates[pool].numbers["active"] < gates[pool].numbers.get("concurrency", 2**31)
    return False


def agree() -> bool:
    """Compare the explanations with claims of every pool; return whether a claim got a job."""
    for name in (*NAMES, "nowhere"):
        said = explained()
        certain = {i for i, one in said.items() if one.standing and one.standing.is_next}
        equals = {i for i, one in said.items() if one.standing and one.standing.is_next is None}
        held = {i for i, one in said.items() if not one.is_eligible}
        is_governed = name in pool_names()
        is_isolated = any(g.gate == "isolation" for one in said.values() for g in one.gates)
        allowed = {
            i for i, one in said.items()
            if (may(one, name) if is_governed else not is_isolated)
        }  # fmt: skip
        for one in said.values():
            seen.update(f"{gate.gate} {gate.state}" for gate in one.gates)
            seen.update(f"enforced {g.gate}" for g in one.gates if g.is_closed and g.is_enforced)

        taken = set(claim(name, 1, QUEUE))

        assert not held & taken
        assert taken <= allowed
        if certain & allowed:
            assert taken == certain
        elif equals & allowed:
            assert taken
            assert taken <= equals
        else:
            assert not taken
        if taken:
            return True
    return False


def serve_elsewhere(tenant: int, number: int, priority: int) -> None:
    """Let a tenant get jobs of another queue of the pool."""
    of_tenant(TENANTS[tenant], number, "x", priority)
    claim("p", number, "x")


@spec("contract 20.5")
def test_what_is_next_where_tenants_share_over_several_queues_is_taken() -> None:
    core.seen.clear()
    elsewhere = st.tuples(
        st.just(serve_elsewhere), st.integers(0, 2), st.integers(1, 6), st.sampled_from([0, 0, 5])
    )

    @settings(SETTINGS, max_examples=examples(30))
    @example([(core.store, 9, n, 0, 0) for n in range(3)] + [(serve_elsewhere, 1, 5, 0)])
    @given(st.lists(st.one_of(STEPS, elsewhere), min_size=4, max_size=24))
    def in_store(steps: list[tuple[Any, ...]]) -> None:
        reset()
        define("p", queues=[QUEUE, "x"], tenant_fairness={"scope": "pool"})
        for run, *arguments in steps:
            run(*arguments)
        for _ in range(4):
            if core.agree() is None:
                break

    in_store()
    assert {"certain", "equals", "nothing", "limit closed"} <= core.seen.keys()


def pool_names() -> set[str]:
    return {state.pool.name for state in pools.page(limit=10, offset=0)[0]}


@spec("contract 20.5")
def test_pools_that_are_full_or_closed_give_nothing_and_others_what_is_next() -> None:
    seen.clear()

    @SETTINGS
    @example([(crowd, "p", 1, False, True), (live, None)])
    @example([(crowd, "p", 1, True, True)])
    @example([(crowd, "p", 1, True, False)])
    @example([(crowd, "p", 1, False, False)])
    @given(st.lists(st.one_of(STEPS, POOL_STEPS, POOL_STEPS), min_size=4, max_size=14))
    def in_store(steps: list[tuple[Any, ...]]) -> None:
        reset()
        for run, *arguments in steps:
            run(*arguments)
        for _ in range(3):
            if not agree():
                break

    in_store()
    assert {
        "pool open", "pool closed", "pool unknown", "isolation open", "isolation closed",
        "pools closed", "enforced pool",
    } <= seen.keys()  # fmt: skip


@spec("contract 20.5")
def test_a_pool_that_another_process_has_just_deleted_holds_nobody_up() -> None:
    define("p", queues=[QUEUE, "x"], isolated=True)
    (job_id,) = stored_ids(1, queue=QUEUE)
    assert {gate.name for gate in explained()[job_id].gates if gate.gate == "pool"} == {"p"}

    # as another process does; this process remembers the pool
    models.PoolRow.objects.all().delete()
    queries.raise_config_version()

    assert explained()[job_id].is_eligible
    assert not [gate for gate in explained()[job_id].gates if gate.gate in {"pool", "turns"}]


POOLS = st.fixed_dictionaries(
    {
        "strategy": st.sampled_from(sorted(STRATEGIES)),
        "weights": st.fixed_dictionaries({name: st.integers(1, 5) for name in QUEUES}),
        "starvation_prevention": st.sampled_from(
            [{}, {"min_dispatch_ratio": 0.05}, {"min_dispatch_ratio": 0.2},
             {"min_dispatch_ratio": 0.25}]
        ),
    }
)  # fmt: skip
MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("fill"), st.sampled_from(QUEUES), st.integers(1, 9)),
        st.tuples(st.just("claim"), st.just(""), st.integers(1, 6)),
        st.tuples(st.just("pause"), st.sampled_from(QUEUES), st.just(0)),
    ),
    min_size=3,
    max_size=14,
)


@spec("fair-scheduling 7")
def test_turns_that_are_told_are_those_that_claims_take() -> None:
    places: Counter[int] = Counter()

    @SETTINGS
    @given(POOLS, st.lists(st.integers(0, 7), min_size=4, max_size=4), MOVES)
    def in_store(
        body: dict[str, Any], numbers: list[int], moves: list[tuple[str, str, int]]
    ) -> None:
        reset()
        define("p", queues=list(QUEUES), **body)
        for queue, number in zip(QUEUES, numbers, strict=True):
            stored_ids(number, queue=queue)
        for verb, queue, number in moves:
            if verb == "fill":
                stored_ids(number, queue=queue)
            elif verb == "claim":
                claim("p", number)
            else:
                pause(queue)
        told = {}
        for job_id, found in explained().items():
            (turn,) = (gate for gate in found.gates if gate.gate == "turns")
            told[show(job_id).queue] = turn.numbers
        owed = {queue for queue, numbers in told.items() if numbers["owed"]}

        order = [Job.objects.get(id=claimed[0]).queue for claimed in iter(lambda: claim("p"), [])]

        assert {q: numbers["place"] for q, numbers in told.items() if "place" in numbers} == {
            q: order.index(q) for q in order
        }
        assert not owed or order[0] in owed
        places.update(map(order.index, order))

    in_store()
    assert {0, 1, 2, 3} <= places.keys()
