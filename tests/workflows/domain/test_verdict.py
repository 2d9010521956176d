"""The table of contract 8.4, row by row."""

import pytest

from tests.spec import spec
from workflows.domain.kinds import Callback, FlowState, Kind
from workflows.domain.verdict import Counts, fired, verdict

ALL = frozenset({Callback.ON_COMPLETE, Callback.ON_SUCCESS, Callback.ON_FAILURE})


@pytest.mark.parametrize("kind", [Kind.CHAIN, Kind.GROUP, Kind.DAG])
@spec("contract 8.4")
def test_without_callbacks_the_failures_decide_when_nothing_is_open(kind: Kind) -> None:
    assert verdict(Counts(kind, open=1, failed=1)) is FlowState.RUNNING
    assert verdict(Counts(kind, open=0, failed=0)) is FlowState.COMPLETED
    assert verdict(Counts(kind, open=0, failed=1)) is FlowState.FAILED


@pytest.mark.parametrize(
    ("failed", "due"),
    [(0, {Callback.ON_COMPLETE, Callback.ON_SUCCESS}),
     (2, {Callback.ON_COMPLETE, Callback.ON_FAILURE})],
)  # fmt: skip
@spec("contract 8.4")
def test_callbacks_fire_once(failed: int, due: set[Callback]) -> None:
    assert fired(Counts(Kind.BATCH, 1, failed, ALL)) == set()
    assert fired(Counts(Kind.BATCH, 0, failed, ALL)) == due
    assert fired(Counts(Kind.BATCH, 0, failed, ALL, calls=0)) == set()
    assert verdict(Counts(Kind.BATCH, 0, failed, ALL)) is FlowState.RUNNING


@pytest.mark.parametrize(
    ("callbacks", "failed", "state"),
    [
        ({Callback.ON_SUCCESS}, 1, FlowState.FAILED),
        ({Callback.ON_FAILURE}, 0, FlowState.COMPLETED),
    ],
)
@spec("contract 8.4")
def test_a_batch_with_nothing_to_fire_is_over(
    callbacks: set[Callback], failed: int, state: FlowState
) -> None:
    assert verdict(Counts(Kind.BATCH, 0, failed, frozenset(callbacks))) is state


@spec("contract 8.4")
def test_a_batch_ends_with_its_callbacks() -> None:
    def after(calls: int, calls_failed: int, failed: int) -> FlowState:
        return verdict(Counts(Kind.BATCH, 0, failed, ALL, calls, calls_failed))

    assert after(calls=1, calls_failed=0, failed=0) is FlowState.RUNNING
    assert after(calls=1, calls_failed=1, failed=0) is FlowState.FAILED
    assert after(calls=0, calls_failed=0, failed=0) is FlowState.COMPLETED
    assert after(calls=0, calls_failed=0, failed=3) is FlowState.COMPLETED
