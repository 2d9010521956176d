"""Workflows as the server's answers show them. Spec: contract 8.5."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ojs_tasks.exceptions import ServerUnreachable
from ojs_tasks.flows import StepSnapshot, WorkflowSnapshot

Shown: TypeAlias = Mapping[str, Any]  # a workflow or a step, as an answer has it


def workflow_of(body: Any) -> Shown:
    """Return the workflow of an answer. Raises ServerUnreachable for an answer without one."""
    found = body.get("workflow", body) if isinstance(body, Mapping) else None
    if not isinstance(found, Mapping) or not isinstance(found.get("id"), str):
        raise ServerUnreachable("the answer of the server shows no workflow: is it an OJS server?")
    return found


def omitted(shown: Shown) -> Iterator[tuple[str, str]]:
    """Yield name and job id of each step whose result the answer leaves out."""
    for step in _steps(shown):
        if step.get("job_id") and step.get("result_omitted") is True:
            yield str(step.get("id", "")), str(step["job_id"])
        yield from omitted(step)


def snapshot(shown: Shown, results: Mapping[str, Any] | None = None) -> WorkflowSnapshot:
    """Return a workflow as handles show it.

    `results` are those that the answer left out, by job id; None: no step gets its result.
    """
    errors = {one.get("job_id"): _told(one) for one in shown.get("errors") or ()}
    callbacks = shown.get("callbacks")
    named = callbacks.items() if isinstance(callbacks, Mapping) else ()
    return WorkflowSnapshot(
        id=shown["id"],
        type=str(shown.get("type", "")),
        name=str(shown.get("name") or ""),
        state=str(shown.get("state", "")),
        steps=_snapshots(shown, errors, results),
        callbacks=tuple(_step({"id": name, **one}, errors, None) for name, one in named),
        parent_job_id=shown.get("parent_job_id"),
    )


def _snapshots(
    shown: Shown, errors: Mapping[Any, Any], results: Mapping[str, Any] | None
) -> tuple[StepSnapshot, ...]:
    return tuple(_step(step, errors, results) for step in _steps(shown))


def _step(
    step: Shown, errors: Mapping[Any, Any], results: Mapping[str, Any] | None
) -> StepSnapshot:
    job_id, error = step.get("job_id"), step.get("error")
    steps = _snapshots(step, errors, results)
    return StepSnapshot(
        id=str(step.get("id", "")),
        type=str(step.get("type", "")),
        state=str(step.get("state", "")),
        job_id=job_id,
        result=None if results is None else _result(step, steps, results),
        error=error if isinstance(error, dict) else errors.get(job_id) if job_id else None,
        steps=steps,
    )


def _result(step: Shown, steps: Sequence[StepSnapshot], results: Mapping[str, Any]) -> Any:
    if step.get("result_omitted") is not True:
        return step.get("result")
    if steps:  # that of a nested workflow is the list of its members' results
        return [one.result for one in steps]
    return results.get(str(step.get("job_id")))


def _steps(shown: Shown) -> Sequence[Shown]:
    return shown.get("steps") or ()


def _told(error: Shown) -> dict[str, Any] | None:
    """Return the members of an error of a workflow that describe it; None without any."""
    told = {name: error.get(name) for name in ("code", "type", "message", "attempt")}
    return {name: value for name, value in told.items() if value is not None} or None
