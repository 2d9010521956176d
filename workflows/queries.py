"""One typed function per statement in `sql/`: the only module of this app with a cursor.

Steps are named by (workflow id, position). Lists are passed as one JSON array. JSON is returned as
text.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

from django.db.backends.base.base import BaseDatabaseWrapper

from jobs.domain.outcome.awaited import Look
from jobs.domain.wire import jsonio
from jobs.statements import Statements
from workflows.domain.rows import FlowRow, StepRow

_statements = Statements(Path(__file__).resolve().parent / "sql")
_rows, _hot_rows = _statements.rows, _statements.hot_rows

StepKey = tuple[str, int]


def _json(rows: Iterable[Any]) -> str:
    return jsonio.dumps(list(rows)).decode()


def _keys(keys: Iterable[StepKey]) -> str:
    return _json({"workflow_id": flow, "index": index} for flow, index in keys)


def insert(
    flows: Sequence[Mapping[str, Any]],
    steps: Sequence[Mapping[str, Any]],
    slots: Sequence[Mapping[str, Any]],
) -> None:
    """Store workflows, steps and slots; the members are the columns in `sql/insert.sql`."""
    _rows("insert", {"flows": _json(flows), "steps": _json(steps), "slots": _json(slots)})


@dataclass(frozen=True, slots=True)
class Ended:
    """An ended step; codes as in domain/kinds.py, `dependents` is the number of steps behind it."""

    workflow_id: str
    index: int
    state: int
    callback: int
    depth: int
    dependents: int


def record(job_ids: Sequence[str]) -> list[Ended]:
    """Store the ends of steps' jobs and block cancels; ignore jobs of no running step."""
    return [Ended(*row[:6]) for row in _rows("record", {"ids": list(job_ids)})]


def note(steps: Iterable[Mapping[str, Any]], limit: int) -> list[Ended]:
    """End steps without a job: `workflow_id`, `index`, `state`, `error`."""
    return list(starmap(Ended, _rows("note", {"steps": _json(steps), "limit": limit})))


@dataclass(frozen=True, slots=True)
class Moved:
    """A step that no longer waits: it is due or cancelled."""

    workflow_id: str
    index: int
    state: int
    child_id: str | None


def release(ended: Iterable[StepKey]) -> list[Moved]:
    """Count ended steps down at their dependents; return the steps now due or cancelled."""
    return list(starmap(Moved, _rows("release", {"ended": _keys(ended)})))


class Counted(NamedTuple):
    """The counts of a workflow after members ended; `callbacks` are codes."""

    id: str
    depth: int
    kind: int
    state: int
    open: int
    failed: int
    callbacks: list[int]
    calls: int | None
    calls_failed: int


def count_ended(ended: Iterable[tuple[str, int, int, int]]) -> list[Counted]:
    """Count (workflow id, position, state, callback) of ended steps; return changed workflows."""
    rows = [
        {"workflow_id": flow, "index": index, "state": state, "callback": callback}
        for flow, index, state, callback in ended
    ]
    return list(starmap(Counted, _rows("count_ended", {"ended": _json(rows)})))


def call(calls: Iterable[tuple[str, int]]) -> list[Moved]:
    """Make callbacks due: (workflow id, callback code)."""
    rows = [{"workflow_id": flow, "callback": callback} for flow, callback in calls]
    return list(starmap(Moved, _rows("call", {"calls": _json(rows)})))


class Finished(NamedTuple):
    """An ended workflow and, if it is nested, the step that stands for it.

    `parent_job_id` is the job that waits for the end.
    """

    id: str
    state: int
    parent_id: str | None
    parent_step: int | None
    parent_job_id: str | None
    tenant: str


def finish(flows: Iterable[tuple[str, int]], retention_ms: int) -> list[Finished]:
    """End workflows: (id, final state)."""
    rows = [{"id": flow, "state": state} for flow, state in flows]
    found = _rows("finish", {"flows": _json(rows), "retention_ms": retention_ms})
    return list(starmap(Finished, found))


def enter(ids: Sequence[str]) -> list[Moved]:
    """Begin nested workflows; return their first steps."""
    return list(starmap(Moved, _rows("enter", {"ids": list(ids)})))


@dataclass(frozen=True, slots=True)
class Due:
    """The source of a due step's job; JSON as text, `results` is None without parents' results."""

    workflow_id: str
    index: int
    request: str
    caller: str
    bytes: int
    results: str | None


def due(steps: Iterable[StepKey], limit: int) -> list[Due]:
    """Read requests and parents' results; leave out results beyond `limit` bytes."""
    return list(starmap(Due, _rows("due", {"steps": _keys(steps), "limit": limit})))


def begun(steps: Iterable[tuple[str, int, str]]) -> int:
    """Assign jobs to due steps: (workflow id, position, job id); return the number of steps."""
    rows = [{"workflow_id": flow, "index": n, "job_id": job_id} for flow, n, job_id in steps]
    return len(_rows("begun", {"steps": _json(rows)}))


def bury(ids: Sequence[str]) -> int:
    """Cancel nested workflows that will never begin, with contents; return the number of steps."""
    return len(_rows("bury", {"ids": list(ids)}))


def hold(root_id: str, *, exclusive: bool) -> None:
    """Lock a whole tree until the transaction ends: shared among ends of members, or exclusive."""
    _rows("hold", {"root_id": root_id, "exclusive": exclusive})


def overdue(batch: int) -> list[tuple[str, int, str]]:
    """Read due steps whose job was refused: (workflow id, position, root id), longest due first."""
    return [(row[0], row[1], row[2]) for row in _rows("overdue", {"batch": batch})]


def postpone(step: StepKey, delay_ms: int) -> None:
    """Postpone the next try of a due step."""
    _rows("postpone", {"workflow_id": step[0], "index": step[1], "delay_ms": delay_ms})


def started(root_id: str) -> list[str]:
    """Read the ids of the jobs of a tree's steps that have begun and not ended."""
    return [row[0] for row in _rows("started", {"root_id": root_id})]


class Cancelled(NamedTuple):
    """The outcome of a cancel; `missed`: a step began after the read, and its job still waits.

    `parent_job_id` is the job that waits for the end.
    """

    steps_cancelled: int
    steps_completed: int
    cancelled_at: datetime
    missed: bool
    parent_job_id: str | None
    tenant: str


def cancel(
    root_id: str, begun: Sequence[str], cancelled: Sequence[str], retention_ms: int
) -> Cancelled | None:
    """End a locked tree; None if it does not run. `cancelled` are the ended jobs among `begun`."""
    rows = _rows(
        "cancel",
        {
            "root_id": root_id,
            "begun": list(begun),
            "cancelled": list(cancelled),
            "retention_ms": retention_ms,
        },
    )
    return Cancelled(*rows[0]) if rows else None


def tree(flow_id: str) -> list[FlowRow]:
    """Read the whole tree of a workflow, outer before inner; empty for an unknown id."""
    return list(starmap(FlowRow, _rows("tree", {"id": flow_id})))


def page(
    states: Sequence[int],
    *,
    tenant: str | None,
    before: str | None,
    offset: int,
    limit: int,
    most: int,
) -> tuple[list[FlowRow], int]:
    """List workflows that are not nested, newest first; return a page and the total up to `most`.

    `before` continues behind an id. The total counts the whole list.
    """
    rows = _rows(
        "page",
        {
            "states": list(states),
            "tenant": tenant,
            "before": before,
            "offset": offset,
            "limit": limit,
            "most": most,
        },
    )
    return [FlowRow(*row[1:]) for row in rows if row[1] is not None], rows[0][0]


def steps(flow_ids: Sequence[str], result_bytes: int) -> list[StepRow]:
    """Read the steps of workflows in order, with results as far as they fit."""
    params = {"ids": list(flow_ids), "result_bytes": result_bytes}
    return list(starmap(StepRow, _rows("steps", params)))


def retained(job_ids: Sequence[str]) -> set[str]:
    """Return the jobs among `job_ids` that are members of running trees."""
    return {row[0] for row in _rows("retained", {"ids": list(job_ids)})}


def prune(batch: int, again_ms: int) -> int:
    """Remove trees whose time is over and whose jobs are gone; return the number of checked trees.

    Trees whose jobs still exist are checked again after `again_ms`.
    """
    return int(_rows("prune", {"batch": batch, "again_ms": again_ms})[0][0])


def root_of(job_id: str) -> str | None:
    """Return the tree of a member."""
    rows = _rows("root_of", {"job_id": job_id})
    return rows[0][0] if rows else None


def reopen(job_id: str) -> str | None:
    """Mark the failed step of a job as begun; return its workflow, None if that has ended."""
    rows = _rows("reopen", {"job_id": job_id})
    return rows[0][0] if rows else None


def undoom(flow_id: str) -> int:
    """Let cancelled steps of a running workflow wait again if no failed step is before them."""
    return len(_rows("undoom", {"id": flow_id}))


def recount(flow_id: str) -> None:
    """Count the members of a locked workflow again."""
    _rows("recount", {"id": flow_id})


class Membership(NamedTuple):
    """A job's step and workflow; `before` names some of the `number` steps before that step."""

    workflow_id: str
    workflow: str
    state: int
    step: str
    before: list[str]
    number: int
    after: int


def membership(job_id: str, most: int) -> Membership | None:
    """Read the membership of a job; None for a job of no stored workflow."""
    rows = _rows("membership", {"job_id": job_id, "most": most})
    return Membership(*rows[0]) if rows else None


class FutureSteps(NamedTuple):
    """Waiting steps of a type whose requests name the version alike: see `version_said`."""

    type: str
    version: str | None
    option: str | None
    is_open: bool
    steps: int


def future_steps(job_type: str, *, looked: int) -> list[FutureSteps]:
    """Count the steps that will make jobs of a type; steps of ended workflows make none."""
    return [
        FutureSteps(*row) for row in _rows("future_steps", {"type": job_type, "looked": looked})
    ]


def await_look(ids: Collection[str], on: BaseDatabaseWrapper) -> list[Look]:
    """Return whether workflows have ended; workflows that are not visible are left out."""
    literal = f"{{{','.join(ids)}}}"  # the hot path takes texts
    return list(starmap(Look, _hot_rows("await_look", {"ids": literal}, on=on)))
