"""Kinds and states of workflows and steps, with the numbers that stand for them in the database.

Spec: contract 8.1, 8.2, 8.4.
"""

from enum import IntEnum, StrEnum
from typing import Final


class Kind(StrEnum):
    """Wire names."""

    CHAIN = "chain"
    GROUP = "group"
    BATCH = "batch"
    DAG = "dag"


KIND_CODES: Final = {kind: code for code, kind in enumerate(Kind, start=1)}
_KINDS: Final = dict(zip(KIND_CODES.values(), KIND_CODES, strict=True))


def kind_of(code: int) -> Kind:
    """Return the kind a storage code stands for."""
    return _KINDS[code]


class FlowState(IntEnum):
    """Storage codes; a nested workflow waits until its step begins."""

    WAITING = 0
    RUNNING = 1
    COMPLETED = 2
    FAILED = 3
    CANCELLED = 4


# what the wire says: a workflow is never shown as waiting. Spec: contract 8.4
FLOW_NAMES: Final = {
    FlowState.WAITING: "running",
    FlowState.RUNNING: "running",
    FlowState.COMPLETED: "completed",
    FlowState.FAILED: "failed",
    FlowState.CANCELLED: "cancelled",
}


class StepState(IntEnum):
    """Storage codes; of a step that has begun, its job knows more."""

    WAITING = 0  # for its dependencies, or a callback for its turn
    DUE = 1  # may begin; its job was refused so far
    STARTED = 2  # its job, or its nested workflow, has not ended
    COMPLETED = 3
    FAILED = 4  # job discarded, or never accepted, or nested workflow failed
    STOPPED = 5  # job cancelled on its own account: counts as failed
    CANCELLED = 6  # never ran: a dependency failed, or the workflow was cancelled


FAILURES: Final = frozenset({StepState.FAILED, StepState.STOPPED})


class Callback(IntEnum):
    """Storage codes; 0 is a member."""

    NONE = 0
    ON_COMPLETE = 1
    ON_SUCCESS = 2
    ON_FAILURE = 3

    @property
    def wire(self) -> str:
        """The name on the wire."""
        return self.name.lower()


CALLBACKS: Final = {
    callback.wire: callback for callback in Callback if callback is not Callback.NONE
}
