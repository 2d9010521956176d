"""Workflows: the list, and a workflow with its graph."""

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import orjson
from django.http import Http404
from django.utils import timezone

from attention.domain.rule import Subject
from console import gantt
from console.graph import draw, shown_state
from console.views.base import PageView
from console.why import subjects
from console.why.statements import statements
from jobs.domain.errors import NotFound
from jobs.domain.wire.ids import is_id
from workflows.domain.kinds import FAILURES, FLOW_NAMES, Callback, FlowState, StepState, kind_of
from workflows.domain.rows import FlowRow
from workflows.services.show import EVERY, STATES, Whole, Window, listed, show

SIZE = 50
LISTED = 200  # steps in the table of a workflow
SHOWN = ("running", "completed", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Line:
    """A workflow on the pages."""

    row: FlowRow
    state: str
    kind: str

    @property
    def title(self) -> str:
        """Return its name, or a description without a name."""
        return self.row.name or f"unnamed {self.kind}"


def line(row: FlowRow) -> Line:
    """Translate the codes of a workflow into names."""
    return Line(row, FLOW_NAMES[FlowState(row.state)], kind_of(row.kind).value)


class Workflows(PageView):
    """Workflows by state and tenant, a page at a time."""

    template_name = "ojs/console/workflows.html"
    title = "Workflows"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page."""
        given = self.request.GET
        state = given.get("state", "") if given.get("state") in SHOWN else ""
        tenant = self.tenant or given.get("tenant", "").replace("\x00", "").strip()
        after = given.get("after", "") if is_id(given.get("after")) else ""
        rows, total = listed(
            STATES[state] if state else EVERY,
            Window(SIZE, before=after or None),
            tenant=tenant or None,
        )
        chosen = {"state": state, "tenant": tenant}
        link = urlencode({name: value for name, value in chosen.items() if value})
        following = urlencode({**chosen, "after": rows[SIZE - 1].id}) if len(rows) > SIZE else ""
        return super().get_context_data(
            lines=[line(row) for row in rows[:SIZE]],
            total=total,
            states=SHOWN,
            wanted={**chosen, "after": after, "is_empty": not (state or tenant)},
            first_link=link,
            next_link=following,
            **kwargs,
        )


class WorkflowDetail(PageView):
    """A workflow: its progress, its graph, its steps, its errors."""

    template_name = "ojs/console/workflow.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the workflow and draw it."""
        try:
            whole = show(kwargs["workflow_id"], with_results=False)
        except NotFound as problem:
            raise Http404 from problem
        if self.tenant not in {None, whole.row.tenant}:
            raise Http404
        flow = line(whole.row)
        named = [(step, shown_state(step, whole)) for step in whole.steps]
        failed = [step for step in whole.steps if step.state in FAILURES]
        return super().get_context_data(
            flow=flow,
            drawing=draw(whole),
            completed=_count(whole, {StepState.COMPLETED}),
            failed=_count(whole, FAILURES),
            callbacks=sum(step.callback != Callback.NONE for step in whole.steps),
            steps=named[:LISTED],
            bars=gantt.of_steps(named, timezone.now()),
            is_longer=len(whole.steps) > LISTED,
            began=min((step.started_at for step in whole.steps if step.started_at), default=None),
            errors=[(step, orjson.loads(step.error)) for step in failed[:20] if step.error],
            why_here=statements(
                self.request,
                subjects.of_workflow(whole, self.tenant),
                Subject.WORKFLOW,
                whole.row.id,
            ),
            can_cancel=flow.state == "running" and whole.row.parent_id is None,
            title=flow.title,
        )


def _count(whole: Whole, states: "set[StepState] | frozenset[StepState]") -> int:
    return sum(step.state in states and step.callback == Callback.NONE for step in whole.steps)
