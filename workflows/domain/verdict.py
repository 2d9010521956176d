"""What becomes of a workflow when members end. Spec: contract 8.4."""

from collections.abc import Set
from dataclasses import dataclass

from workflows.domain.kinds import Callback, FlowState, Kind


@dataclass(frozen=True, slots=True)
class Tally:
    """Numbers of one running workflow after a change; a wide one counts its open slots.

    `callbacks` are those it has; `calls` those fired and not ended, None before they fire.
    """

    kind: Kind
    open: int  # members, or slots of them, that have not ended
    failed: int  # members that failed; of a wide workflow complete when nothing is open
    callbacks: Set[Callback] = frozenset()
    calls: int | None = None
    calls_failed: int = 0


def fired(tally: Tally) -> frozenset[Callback]:
    """Return the callbacks whose turn it is: once, when the last member has ended."""
    if tally.open or tally.calls is not None:
        return frozenset()
    due = {Callback.ON_COMPLETE, Callback.ON_FAILURE if tally.failed else Callback.ON_SUCCESS}
    return frozenset(due & tally.callbacks)


def verdict(tally: Tally) -> FlowState:
    """Return the state a running workflow is in by its numbers; callbacks to fire keep it running.

    A chain needs no rule of its own: the steps behind a failed one are cancelled with it, so that
    nothing is open. A batch fails as soon as a callback did.
    """
    if tally.calls_failed:
        return FlowState.FAILED
    if tally.open or tally.calls or fired(tally):
        return FlowState.RUNNING
    return FlowState.FAILED if tally.failed and not _is_answered(tally) else FlowState.COMPLETED


def _is_answered(tally: Tally) -> bool:
    """Tell whether a callback took care of the failures of a batch. Spec: D38."""
    return bool({Callback.ON_COMPLETE, Callback.ON_FAILURE} & tally.callbacks)
