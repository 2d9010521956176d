"""The methods of a server that tests in memory do not have."""

from collections.abc import Sequence
from typing import NoReturn

from ojs_tasks.flows import WorkflowSnapshot
from ojs_tasks.server import Draft, Reconciled


class WithoutWorkflows:
    """The part of `Server` for workflows and schedules: each method raises NotImplementedError."""

    def start_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Raise NotImplementedError."""
        _refuse("workflows")

    async def astart_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Raise NotImplementedError."""
        _refuse("workflows")

    def read_workflow(self, workflow_id: str, *, with_results: bool = False) -> WorkflowSnapshot:
        """Raise NotImplementedError."""
        _refuse("workflows")

    async def aread_workflow(
        self, workflow_id: str, *, with_results: bool = False
    ) -> WorkflowSnapshot:
        """Raise NotImplementedError."""
        _refuse("workflows")

    def wait_workflow(self, workflow_id: str, timeout_s: float | None) -> WorkflowSnapshot:
        """Raise NotImplementedError."""
        _refuse("workflows")

    async def await_workflow_end(
        self, workflow_id: str, timeout_s: float | None
    ) -> WorkflowSnapshot:
        """Raise NotImplementedError."""
        _refuse("workflows")

    def cancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Raise NotImplementedError."""
        _refuse("workflows")

    async def acancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Raise NotImplementedError."""
        _refuse("workflows")

    def reconcile_schedules(self, owner: str, bodies: Sequence[Draft]) -> Reconciled:
        """Raise NotImplementedError."""
        _refuse("schedules")


def _refuse(what: str) -> NoReturn:
    raise NotImplementedError(f"a test in memory has no {what}: they need the server's apps")
