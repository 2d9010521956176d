"""Scenarios and changes: accepted members, and refusals that name the member."""

from typing import Any

import orjson
import pytest

from jobs.domain.dispatch.claim import LaneKey, Strategy
from jobs.domain.errors import OJSError
from jobs.domain.wire.jsonio import REQUEST_DEPTH
from scheduling.domain import yaml_text
from scheduling.domain.change import parse_change
from scheduling.domain.scenario import parse_scenario
from scheduling.domain.workload import Arrival, Workers
from scheduling.domain.yaml_text import read_yaml

JOBS = {"queue": "a", "arrivals": {"constant": 2}}


def scenario(**members: Any) -> dict[str, Any]:
    """Return a small scenario."""
    rest = {"duration": "2s", "workers": [{"queues": ["a"]}], "jobs": [JOBS]}
    return {**rest, **members}


def source(**members: Any) -> dict[str, Any]:
    """Return a scenario with a single source of jobs."""
    return scenario(jobs=[{**JOBS, **members}])


def arrivals(raw: dict[str, Any], seed: int | None = None) -> list[Arrival]:
    """Return the jobs of a scenario."""
    return list(parse_scenario(raw, 1000, seed=seed).load.arrivals)


def test_constant_arrivals_are_evenly_spaced() -> None:
    lane = LaneKey("a", 0, "_default")

    assert arrivals(scenario()) == [Arrival(at, lane, 1000) for at in (0, 500, 1000, 1500)]


def test_arrivals_begin_and_end_when_they_are_told_to() -> None:
    given = source(arrivals={"constant": 2, "from": "500ms", "to": "1s"})

    assert [job.at_ms for job in arrivals(given)] == [500]


def test_bursts_come_at_once_and_again() -> None:
    given = source(arrivals={"burst": 2, "at": "PT0S", "every": "1s"}, runs="PT0.2S")

    assert [(job.at_ms, job.run_ms) for job in arrivals(given)] == [(0, 200)] * 2 + [
        (1000, 200)
    ] * 2


def test_a_seed_makes_the_same_jobs_again_and_another_seed_others() -> None:
    given = source(arrivals={"poisson": 20}, runs={"exponential": "1s"})

    assert arrivals(given) == arrivals(given) != arrivals(given, seed=2)
    assert arrivals({**given, "seed": 2}) == arrivals(given, seed=2)


def test_runs_between_two_lengths_stay_there() -> None:
    made = arrivals(source(arrivals={"burst": 100}, runs={"uniform": ["100ms", "200ms"]}))

    assert {100 <= job.run_ms <= 200 for job in made} == {True}


def test_tenant_and_priority_make_the_lane() -> None:
    made = arrivals(source(tenant="blue", priority=5))

    assert made[0].lane == LaneKey("a", 5, "blue")


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        (scenario(duration=None), "duration"),
        (scenario(duration="8d"), "duration"),
        (scenario(speed=2), "speed"),
        (scenario(seed="one"), "seed"),
        (scenario(workers=[]), "workers"),
        (scenario(workers=["w"]), "workers[0]"),
        (scenario(workers=[{"slots": 1}]), "workers[0].queues"),
        (scenario(workers=[{"slots": 0, "pool": "p"}]), "workers[0].slots"),
        (scenario(workers=[{"slots": True, "pool": "p"}]), "workers[0].slots"),
        (scenario(workers=[{"pool": "no pool"}]), "workers[0].pool"),
        (scenario(workers=[{"queues": "a"}]), "workers[0].queues"),
        (scenario(workers=[{"pool": "p", "size": 1}]), "workers[0].size"),
        (scenario(workers=[{"pool": "p", "slots": 9_999}] * 2), "workers"),
        (scenario(jobs=None), "jobs"),
        (scenario(jobs=["a"]), "jobs[0]"),
        (source(arrivals={"constant": 501}), "jobs"),
        (source(queue="No Queue"), "jobs[0].queue"),
        (source(tenant=""), "jobs[0].tenant"),
        (source(priority="urgent"), "jobs[0].priority"),
        (source(color="red"), "jobs[0].color"),
        (source(arrivals=None), "jobs[0].arrivals"),
        (source(arrivals=3), "jobs[0].arrivals"),
        (source(arrivals={"constant": 1, "poisson": 1}), "jobs[0].arrivals"),
        (source(arrivals={"constant": 0}), "jobs[0].arrivals.constant"),
        (source(arrivals={"poisson": "many"}), "jobs[0].arrivals.poisson"),
        (source(arrivals={"constant": 1, "every": "1s"}), "jobs[0].arrivals.every"),
        (source(arrivals={"constant": 1, "from": "soon"}), "jobs[0].arrivals.from"),
        (source(arrivals={"burst": 0}), "jobs[0].arrivals.burst"),
        (source(arrivals={"burst": 1, "every": "PT0S"}), "jobs[0].arrivals.every"),
        (source(runs="long"), "jobs[0].runs"),
        (source(runs={"normal": "1s"}), "jobs[0].runs"),
        (source(runs={"exponential": 3}), "jobs[0].runs.exponential"),
        (source(runs={"uniform": ["2s", "1s"]}), "jobs[0].runs.uniform"),
        (source(runs={"uniform": ["2s"]}), "jobs[0].runs"),
        (scenario(pools={"p": {"queues": []}}), "pools.p.queues"),
    ],
)
def test_what_is_wrong_with_a_scenario_is_named(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(OJSError) as refused:
        parse_scenario(raw, 1000)

    assert refused.value.details["field"] == field


def test_a_change_has_the_forms_of_the_api() -> None:
    change = parse_change(
        {
            "pools": {"p": {"queues": {"a": 3, "b": 1}, "strategy": "weighted"}, "old": None},
            "scheduling": {
                "default_strategy": "strict", "tenant_fairness": {"weights": {"tenant:blue": 3}},
            },
            "queues": {"a": {"concurrency": 2, "rate_limit": {"limit": 3, "period": "PT1S"}}},
            "workers": [{"pool": "p", "slots": 3}],
        }
    )  # fmt: skip
    pool = change.pools["p"]

    assert pool is not None
    assert (pool.strategy, pool.weights) == (Strategy.WEIGHTED, (3, 1))
    assert change.pools["old"] is None
    assert change.strategy is Strategy.STRICT
    assert change.tenants is not None
    assert change.tenants.of("blue") == 3
    assert change.queues["a"]["concurrency"] == 2
    assert change.workers == (Workers("workers-0", 3, (), "p"),)


@pytest.mark.parametrize(
    ("raw", "field"),
    [
        ({"pool": {}}, "pool"),
        ({"pools": []}, "pools"),
        ({"pools": {"no name": {"queues": ["a"]}}}, "pools"),
        ({"pools": {"p": {"queues": ["a"], "strategy": "best"}}}, "pools.p.strategy"),
        ({"pools": {"p": ["a"]}}, "pools.p.p"),
        ({"queues": {"a": {"concurrency": -1}}}, "queues.a.concurrency"),
        ({"queues": {"a": {"colour": 1}}}, "queues.a.colour"),
        ({"queues": {"A!": {}}}, "queues"),
        ({"scheduling": {"default_strategy": "best"}}, "scheduling.default_strategy"),
        ({"scheduling": {"strategy": "strict"}}, "scheduling.strategy"),
        (
            {"scheduling": {"tenant_fairness": {"weights": {"tenant:a": 0}}}},
            "scheduling.tenant_fairness.weights.tenant:a",
        ),
        ({"workers": {}}, "workers"),
    ],
)
def test_what_is_wrong_with_a_change_is_named(raw: dict[str, Any], field: str) -> None:
    with pytest.raises(OJSError) as refused:
        parse_change(raw)

    assert refused.value.details["field"] == field


@pytest.mark.parametrize(
    "text",
    [
        "pools: [", "- a", "a: 1\na: 2", "1: a", "on: a", "a: !!python/object:os.system x",
        "a: " * 100_000, "[" * 5000, "&a {<<: *a}", "a: &a [*a]\nb: {<<: *a}",
    ],
)  # fmt: skip
def test_what_is_no_yaml_object_is_refused(text: str) -> None:
    with pytest.raises(OJSError) as refused:
        read_yaml(text, "changes")

    assert refused.value.details["field"] == "changes"


def test_yaml_is_as_deep_as_a_request_at_most() -> None:
    def nested(levels: int) -> str:
        return '{"a": ' * levels + "1" + "}" * levels

    deepest = nested(REQUEST_DEPTH)
    assert read_yaml(deepest, "changes") == orjson.loads(deepest)
    with pytest.raises(OJSError, match=f"it is nested deeper than {REQUEST_DEPTH} levels"):
        read_yaml(nested(REQUEST_DEPTH + 1), "changes")


def test_members_are_not_compared_with_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = 0

    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return str.__eq__(self, other)

    construct = yaml_text._Loader.construct_scalar
    monkeypatch.setattr(
        yaml_text._Loader, "construct_scalar", lambda *args: Counted(construct(*args))
    )
    members = 500

    found = read_yaml("".join(f"a{number}: b\n" for number in range(members)), "changes")

    assert len(found) == members
    assert compared <= members


def test_an_empty_text_is_an_empty_object() -> None:
    assert read_yaml(" \n", "changes") == {}
    assert read_yaml('{"a": [1]}', "changes") == {"a": [1]}
