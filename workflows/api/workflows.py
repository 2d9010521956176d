"""Endpoints under /ojs/v1/workflows. Spec: contract 8, 24.5, 24.6, 29."""

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import ID, OBJECT
from jobs.api.wire import job_codec
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import QUERY, page
from jobs.api.wire.waits import WAIT, decode_wait
from jobs.domain.errors import InvalidRequest, NotFound
from workflows.api import codec
from workflows.api.paging import encode_pagination, read_cursor
from workflows.api.schemas import LIST, PROGRESS, WORKFLOW_ANSWER, WORKFLOW_REQUEST
from workflows.domain.request import parse_workflow
from workflows.services.awaiting import hold_request
from workflows.services.cancel import cancel
from workflows.services.show import EVERY, STATES, Whole, Window, flow, jobs_of, listed, show
from workflows.services.start import start

PATH = {"workflow_id": ID}


class WorkflowCollection(OJSView):
    """Create and list workflows."""

    @operation(
        "listWorkflows",
        {200: LIST},
        query={"state": {"type": "string", "enum": ["", *STATES]}, **QUERY},
    )
    def get(self, request: Request) -> Answer:
        """List workflows that are not nested, newest first."""
        wanted = request.query_params.get("state") or None
        if wanted is not None and wanted not in STATES:
            raise InvalidRequest.field("state", f"must be one of {', '.join(STATES)}", wanted[:100])
        before = read_cursor(request)
        asked = page(request, has_cursor=before is None)
        window = Window(asked.limit, asked.offset, before)
        states = EVERY if wanted is None else STATES[wanted]
        rows, total = listed(states, window, tenant=self.principal.tenant)
        shown = [codec.encode_item(row) for row in rows[: window.limit]]
        return Answer(
            {
                "workflows": shown,
                "items": shown,
                "total": total,
                "pagination": encode_pagination(window, rows, total),
            }
        )

    @operation(
        "createWorkflow",
        {201: WORKFLOW_ANSWER},
        body=WORKFLOW_REQUEST,
        headers={201: ("Location",)},
        refusals=(409, 422, 429),
    )
    def post(self, request: Request) -> Answer:
        """Create a workflow and enqueue the jobs of its first steps."""
        plan = parse_workflow(self.body(), job_codec.decode_job)
        self.principal.require_enqueue((draft.queue, draft.type) for draft in plan.drafts())
        workflow_id = start(plan, self.caller)
        return Answer(
            codec.encode_workflow(show(workflow_id)),
            status=201,
            headers={"Location": self.path(f"/workflows/{workflow_id}")},
        )


class WorkflowDetail(OJSView):
    """Show and cancel a workflow."""

    @operation("getWorkflow", {200: WORKFLOW_ANSWER}, path=PATH, query=WAIT, refusals=(404,))
    def get(self, request: Request, workflow_id: str) -> Answer:
        """Show a workflow with all its steps, with `wait=true` once it has ended.

        If many others wait, the answer comes at once: check `state` and ask again.
        """
        wait_s = decode_wait(request)
        self.require_own(workflow_id)
        hold_request(workflow_id, wait_s)
        return Answer(codec.encode_workflow(self.shown(workflow_id)))

    @operation("cancelWorkflow", {200: WORKFLOW_ANSWER}, path=PATH, refusals=(404, 409))
    def delete(self, request: Request, workflow_id: str) -> Answer:
        """Cancel a workflow. Active jobs finish."""
        return self.cancelled(workflow_id)

    def visible(self, workflow_id: str) -> Whole:
        """Read a workflow that the caller may see. Raises NotFound, also for another tenant's."""
        self.require_own(workflow_id)
        return self.shown(workflow_id)

    def shown(self, workflow_id: str) -> Whole:
        """Read a workflow, with results only for callers that may see classified jobs."""
        return show(workflow_id, with_results=self.principal.sees_classified)

    def cancelled(self, workflow_id: str) -> Answer:
        """Cancel a workflow that the caller may see."""
        self.require_own(workflow_id)
        if self.principal.is_limited:
            self.principal.require_jobs("change jobs", jobs_of(workflow_id))
        done = cancel(workflow_id, self.principal.name)
        return Answer(codec.encode_workflow(self.shown(workflow_id), done))

    def require_own(self, workflow_id: str) -> None:
        """Raise NotFound if the key is bound to another tenant than the workflow's."""
        if self.principal.tenant is not None and flow(workflow_id).tenant != self.principal.tenant:
            raise NotFound.of("workflow", workflow_id)


class WorkflowCancel(WorkflowDetail):
    """Cancel a workflow by POST, as the admin interface does."""

    http_method_names = ["post", "options"]

    @operation(
        "cancelWorkflowByPost",
        {200: WORKFLOW_ANSWER},
        path=PATH,
        body=OBJECT,
        needs_body=False,
        refusals=(404, 409),
    )
    def post(self, request: Request, workflow_id: str) -> Answer:
        """Cancel a workflow. Active jobs finish."""
        self.optional_body()
        return self.cancelled(workflow_id)


class WorkflowProgress(WorkflowDetail):
    """Show the progress of a workflow."""

    http_method_names = ["get", "head", "options"]

    @operation("getWorkflowProgress", {200: PROGRESS}, path=PATH, refusals=(404,))
    def get(self, request: Request, workflow_id: str) -> Answer:
        """Show the progress of a workflow and of each of its steps."""
        self.require_own(workflow_id)
        return Answer(codec.encode_progress(show(workflow_id, with_results=False)))
