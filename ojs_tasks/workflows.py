"""`chain`, `group` and `batch`: workflows of signatures, and the handles of enqueued workflows.

    flow = chain(group(count.s("north"), count.s("south")), report.s("pdf"), send.s("ada"))
    handle = flow.enqueue()                 # in the caller's transaction
    handle.progress                         # done, failed and total
    handle.result(timeout=60)               # of `send`

A later step of a chain finds the results of the steps before it in `current_job().parent_results`,
a callback those of all jobs.
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar, overload

from ojs_tasks.exceptions import UnknownTerm
from ojs_tasks.server import server
from ojs_tasks.signatures import Signature, Work
from ojs_tasks.workflow_handle import WorkflowHandle

R = TypeVar("R", covariant=True)  # noqa: PLC0105 - the result, as in handlers.py


class Workflow(Work[R]):
    """A chain, group or batch that is not enqueued yet; `body` is the request that makes it."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        """Take the request, as POST /ojs/v1/workflows does."""
        self.body = body

    def __repr__(self) -> str:
        """Return kind and name."""
        return f"<Workflow {self.body['type']} {self.body.get('name', '')}>"

    def enqueue(self) -> WorkflowHandle[R]:
        """Store the workflow and the jobs of its first steps.

        Joins the caller's transaction: a rollback leaves nothing. Raises the server's refusal.
        """
        return WorkflowHandle(server().start_workflow(self.body))

    async def aenqueue(self) -> WorkflowHandle[R]:
        """Store the workflow as `enqueue` does, without blocking the event loop."""
        return WorkflowHandle(await server().astart_workflow(self.body))


@overload
def chain(*steps: *tuple[*tuple[Work[Any], ...], Work[R]], name: str = "") -> Workflow[R]: ...
@overload
def chain(*steps: Work[R], name: str = "") -> Workflow[R]: ...
def chain(*steps: Any, name: str = "") -> Any:  # type: ignore[misc]  # it takes both
    """Return a workflow that runs one step after the other; its result is that of the last.

    A step is a signature or another workflow, three levels deep. Raises TypeError or ValueError for
    anything else.
    """
    return Workflow({"type": "chain", "steps": _bodies("chain", steps), **_named(name)})


def group(*steps: Work[R], name: str = "") -> Workflow[list[R]]:
    """Return a workflow that runs all steps at the same time; its result is the list of theirs.

    Raises as `chain`.
    """
    return Workflow({"type": "group", "jobs": _bodies("group", steps), **_named(name)})


def batch(
    jobs: Sequence[Work[R]],
    *,
    on_complete: Signature[Any] | None = None,
    on_success: Signature[Any] | None = None,
    on_failure: Signature[Any] | None = None,
    name: str = "",
) -> Workflow[list[R | None]]:
    """Return a group with callbacks, which are jobs: after all jobs have ended one or two of them.

    `on_complete` always runs, `on_success` if no job failed, `on_failure` if one failed. At least
    one is required. The result is the list of all results, None for a failed job. Raises as
    `chain`.
    """
    given = {"on_complete": on_complete, "on_success": on_success, "on_failure": on_failure}
    callbacks = {what: _body(what, one) for what, one in given.items() if one is not None}
    if not callbacks:
        raise ValueError("batch needs on_complete, on_success or on_failure; without, use group")
    for what, body in callbacks.items():
        if "args" not in body:
            raise TypeError(f"{what} takes a signature: a callback is no workflow")
    if isinstance(jobs, Work):
        raise TypeError("batch takes a list of signatures")
    members = _bodies("batch", jobs)
    return Workflow({"type": "batch", "jobs": members, "callbacks": callbacks, **_named(name)})


def _bodies(what: str, steps: Sequence[Any]) -> list[Mapping[str, Any]]:
    if not steps:
        raise ValueError(f"{what} needs at least one step")
    return [_body(what, step) for step in steps]


def _body(what: str, step: Any) -> Mapping[str, Any]:
    if isinstance(step, list | tuple):
        raise TypeError(f"{what} takes each signature as an argument of its own: {what}(*calls)")
    if not isinstance(step, Work):
        raise TypeError(f"{what} takes signatures such as handler.s(1), not {step!r}")
    if isinstance(step, Signature) and step.members.get("id") is not None:
        raise UnknownTerm(f"job {step.type!r}: a step of a workflow has no term 'id'")
    return step.body


def _named(name: str) -> dict[str, str]:
    return {"name": name} if name else {}
