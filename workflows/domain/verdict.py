"""The state of a workflow after members ended. Spec: contract 8.4."""

from collections.abc import Set
from dataclasses import dataclass

from workflows.domain.kinds import Callback, FlowState, Kind


@dataclass(frozen=True, slots=True)
class Tally:
    """The counts of a running workflow after a change; a wide workflow counts its open slots.

    `callbacks` are the callbacks of the workflow. `calls` counts fired callbacks that have not
    ended; it is None before they fire.
    """

    kind: Kind
    open: int  # members, or slots of members, that have not ended
    failed: int  # failed members; of a wide workflow exact only at `open` 0
    callbacks: Set[Callback] = frozenset()
    calls: int | None = None
    calls_failed: int = 0


def fired(tally: Tally) -> frozenset[Callback]:
    """Return the callbacks to fire now; only after the end of the last member, and only once."""
    if tally.open or tally.calls is not None:
        return frozenset()
    due = {Callback.ON_COMPLETE, Callback.ON_FAILURE if tally.failed else Callback.ON_SUCCESS}
    return frozenset(due & tally.callbacks)


def verdict(tally: Tally) -> FlowState:
    """Return the state of a running workflow by its counts; callbacks to fire keep it running.

    A chain needs no rule of its own: the steps behind a failed step are cancelled with it, so none
    is open. A batch fails as soon as a callback has failed.
    """
    if tally.calls_failed:
        return FlowState.FAILED
    if tally.open or tally.calls or fired(tally):
        return FlowState.RUNNING
    return FlowState.FAILED if tally.failed and not _is_answered(tally) else FlowState.COMPLETED


def _is_answered(tally: Tally) -> bool:
    """Return whether the batch has a callback that handles failures. Spec: D38."""
    return bool({Callback.ON_COMPLETE, Callback.ON_FAILURE} & tally.callbacks)
