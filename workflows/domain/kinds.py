"""Kinds and states of workflows and steps, with their codes in the database.

Spec: contract 8.1, 8.2, 8.4.
"""

from enum import IntEnum, StrEnum
from typing import Final


class Kind(StrEnum):
    """Names of the kinds on the wire."""

    CHAIN = "chain"
    GROUP = "group"
    BATCH = "batch"
    DAG = "dag"


KIND_CODES: Final = {kind: code for code, kind in enumerate(Kind, start=1)}
_KINDS: Final = dict(zip(KIND_CODES.values(), KIND_CODES, strict=True))


def kind_of(code: int) -> Kind:
    """Return the kind of a storage code."""
    return _KINDS[code]


class FlowState(IntEnum):
    """Storage codes of a workflow's state; a nested workflow waits until its step begins."""

    WAITING = 0
    RUNNING = 1
    COMPLETED = 2
    FAILED = 3
    CANCELLED = 4


ENDED: Final = frozenset({FlowState.COMPLETED, FlowState.FAILED, FlowState.CANCELLED})

# names on the wire, where no workflow is waiting. Spec: contract 8.4
FLOW_NAMES: Final = {
    FlowState.WAITING: "running",
    FlowState.RUNNING: "running",
    FlowState.COMPLETED: "completed",
    FlowState.FAILED: "failed",
    FlowState.CANCELLED: "cancelled",
}


class StepState(IntEnum):
    """Storage codes of a step's state; the job of a begun step has the details."""

    WAITING = 0  # for its dependencies; a callback: for its condition
    DUE = 1  # may begin; so far its job was refused
    STARTED = 2  # its job or its nested workflow has not ended
    COMPLETED = 3
    FAILED = 4  # job discarded or refused, or nested workflow failed
    STOPPED = 5  # its job was cancelled without the workflow: counts as failed
    CANCELLED = 6  # never ran: a dependency failed, or the workflow was cancelled


FAILURES: Final = frozenset({StepState.FAILED, StepState.STOPPED})


class Callback(IntEnum):
    """Storage codes of callbacks; 0 stands for a member."""

    NONE = 0
    ON_COMPLETE = 1
    ON_SUCCESS = 2
    ON_FAILURE = 3

    @property
    def wire(self) -> str:
        """Return the name on the wire."""
        return self.name.lower()


CALLBACKS: Final = {
    callback.wire: callback for callback in Callback if callback is not Callback.NONE
}
