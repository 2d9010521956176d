"""The state of a workflow after members ended. Spec: contract 8.4."""

from collections.abc import Set
from dataclasses import dataclass

from workflows.domain.kinds import Callback, FlowState, Kind


@dataclass(frozen=True, slots=True)
class Counts:
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


def fired(counts: Counts) -> frozenset[Callback]:
    """Return the callbacks to fire now; only after the end of the last member, and only once."""
    if counts.open or counts.calls is not None:
        return frozenset()
    due = {Callback.ON_COMPLETE, Callback.ON_FAILURE if counts.failed else Callback.ON_SUCCESS}
    return frozenset(due & counts.callbacks)


def verdict(counts: Counts) -> FlowState:
    """Return the state of a running workflow by its counts; callbacks to fire keep it running.

    A chain needs no rule of its own: the steps behind a failed step are cancelled with it, so none
    is open. A batch fails as soon as a callback has failed.
    """
    if counts.calls_failed:
        return FlowState.FAILED
    if counts.open or counts.calls or fired(counts):
        return FlowState.RUNNING
    return FlowState.FAILED if counts.failed and not _is_answered(counts) else FlowState.COMPLETED


def _is_answered(counts: Counts) -> bool:
    """Return whether the batch has a callback that handles failures. Spec: D38."""
    return bool({Callback.ON_COMPLETE, Callback.ON_FAILURE} & counts.callbacks)
