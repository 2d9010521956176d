"""Level 3, orchestration: chains, groups, batches, graphs, over HTTP."""

from typing import Any

import pytest

from tests.levels.conftest import Wire
from tests.spec import spec

PATH = "/ojs/v1/workflows"


def _start(wire: Wire, **body: Any) -> dict[str, Any]:
    flow: dict[str, Any] = wire.send("POST", PATH, body, 201)["workflow"]
    return flow


def _show(wire: Wire, flow: dict[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = wire.send("GET", f"{PATH}/{flow['id']}")["workflow"]
    return shown


def _work(wire: Wire, name: str) -> dict[str, Any]:
    """Complete the next job with its first argument as result."""
    (taken,) = wire.fetched()
    assert taken["args"] == [name]
    wire.ack(taken, result={"did": name})
    return taken


@spec("contract 8")
def test_a_chain_goes_step_by_step_with_the_results_before(wire: Wire) -> None:
    flow = _start(wire, type="chain", name="unload", steps=[wire.job(n) for n in ("a", "b", "c")])
    assert (flow["state"], flow["steps_total"]) == ("running", 3)

    first = _work(wire, "a")
    _work(wire, "b")
    third = _work(wire, "c")

    assert "parent_results" not in first
    assert third["parent_results"] == [{"did": "a"}, {"did": "b"}]
    done = _show(wire, flow)
    assert (done["state"], done["steps_completed"]) == ("completed", 3)


@spec("contract 8.4")
def test_a_chain_ends_with_its_first_failed_step(wire: Wire) -> None:
    steps = [wire.job("a", retry={"max_attempts": 1}), wire.job("b")]
    flow = _start(wire, type="chain", steps=steps)
    (taken,) = wire.fetched()

    wire.nack(taken)

    done = _show(wire, flow)
    assert (done["state"], done["failed_step_index"]) == ("failed", 0)
    assert [step["state"] for step in done["steps"]] == ["failed", "cancelled"]
    assert wire.fetch() == []


@spec("contract 8")
def test_a_group_runs_at_once_and_ends_with_its_last_job(wire: Wire) -> None:
    flow = _start(wire, type="group", jobs=[wire.job(n) for n in range(3)])

    taken = wire.fetched(3)
    assert len(taken) == 3
    for job in taken[:2]:
        wire.ack(job)
    assert _show(wire, flow)["state"] == "running"
    wire.ack(taken[2])

    done = _show(wire, flow)
    assert (done["state"], done["jobs_completed"]) == ("completed", 3)


@pytest.mark.parametrize(("failing", "fired"), [(0, "success"), (1, "failure")])
@spec("contract 8.4")
def test_a_batch_calls_back_once(wire: Wire, failing: int, fired: str) -> None:
    jobs = [wire.job(n, retry={"max_attempts": 1}) for n in range(2)]
    callbacks = {f"on_{name}": wire.job(name) for name in ("success", "failure")}
    flow = _start(wire, type="batch", jobs=jobs, callbacks=callbacks)

    for number, job in enumerate(wire.fetched(2)):
        (wire.nack if number < failing else wire.ack)(job)
    (callback,) = wire.fetched()
    wire.ack(callback)

    assert callback["args"] == [fired]
    assert len(callback["parent_results"]) == 2
    assert _show(wire, flow)["state"] == "completed"
    assert wire.fetch() == []


@spec("contract 8.1")
def test_a_graph_starts_a_step_when_all_before_it_are_done(wire: Wire) -> None:
    flow = _start(
        wire,
        name="inspection",
        steps=[
            {**wire.job("hull"), "id": "hull"}, {**wire.job("crew"), "id": "crew"},
            {**wire.job("seal"), "id": "seal", "depends_on": ["hull", "crew"]},
        ],
    )  # fmt: skip
    first, second = wire.fetched(2)
    wire.ack(first)
    assert wire.fetch() == []
    wire.ack(second)

    _work(wire, "seal")

    assert _show(wire, flow)["state"] == "completed"


@spec("contract 8.6")
def test_a_cancelled_workflow_starts_nothing_more(wire: Wire) -> None:
    flow = _start(wire, type="chain", steps=[wire.job("a"), wire.job("b")])

    told = wire.send("DELETE", f"{PATH}/{flow['id']}")["workflow"]

    assert told["state"] == "cancelled"
    assert wire.fetch() == []
    wire.send("DELETE", f"{PATH}/{flow['id']}", status=409)


@pytest.mark.parametrize(
    "body",
    [
        {"type": "ring", "steps": []}, {"type": "chain", "steps": []}, {"type": "group"},
        {"type": "batch", "jobs": [{"type": "a.b", "args": []}]},
        {"steps": [{"id": "x", "type": "a.b", "args": [], "depends_on": ["x"]}]},
        {"steps": [{"id": "x", "type": "a.b", "args": [], "depends_on": ["gone"]}]},
    ],
)  # fmt: skip
@spec("contract 8.1")
def test_a_bad_workflow_is_refused_with_its_paths(wire: Wire, body: dict[str, Any]) -> None:
    error = wire.send("POST", PATH, body, 400)["error"]

    assert error["details"]["validation_errors"]
