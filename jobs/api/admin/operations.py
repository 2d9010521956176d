"""Operations that can be undone, and the preview of operations. docs/undo.md."""

from typing import Any, Final

from rest_framework.request import Request

from jobs.api.admin.history import require
from jobs.api.base import OJSView
from jobs.api.jobs.targets import MOST_MATCHES, decode_targets, require_covered, targets
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, ID, STATE, TIME, array, component, integer, maybe, obj, text
from jobs.api.wire.admin import list_of, listed, optional_text, require_confirm
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.domain.errors import InvalidRequest
from jobs.domain.outcome.bulk import Verb
from jobs.domain.outcome.undo import REASONS, Outcome
from jobs.domain.states import State, state_of
from jobs.domain.wire.times import format_time
from jobs.models import Undo
from jobs.services.operate import preview, undo

LISTED: Final = 1_000  # jobs that an undo could not restore
STATES: Final = ("running", "done", "undoing", "undone")
OPERATION = component(
    "Operation",
    obj(
        {
            "id": integer(1),
            "at": TIME,
            "undo_until": TIME,
            "actor": text(),
            "action": text(1),
            "target": text(),
            "reason": maybe(text()),
            "state": {"type": "string", "enum": list(STATES)},
            "jobs": integer(0),
            "is_cut": BOOLEAN,
            "restored": integer(0),
            "not_restored": integer(0),
            "undone_by": maybe(text()),
            "undone_at": maybe(TIME),
        }
    ),
)
LEFT = obj(
    {
        "job_id": ID,
        "code": {"type": "string", "enum": [one.value for one in REASONS]},
        "reason": text(1),
    }
)
DETAIL = obj({"operation": OPERATION, "not_restored": array(LEFT, maxItems=LISTED)})
EXAMPLE = obj({"id": ID, "type": text(1), "queue": text(1), "tenant": text(), "state": STATE})
PREVIEW = obj(
    {
        "action": text(1),
        "matched": integer(0),
        "by_state": obj({}, {state.value: integer(1) for state in State}),
        "by_tenant": {"type": "object", "additionalProperties": integer(1)},
        "oldest_at": maybe(TIME),
        "newest_at": maybe(TIME),
        "examples": array(EXAMPLE, maxItems=preview.EXAMPLES),
    },
    {"truncated": BOOLEAN},
)
NUMBER = {"number": integer(1)}
ACTION = {"action": {"type": "string", "enum": [verb.value for verb in Verb]}}


class AdminOperations(OJSView):
    """Operations that can be undone."""

    @may_lag
    @operation("adminListOperations", {200: list_of(OPERATION, "operations")}, query=NUMBERED)
    def get(self, request: Request) -> Answer:
        """List operations of the last 24 hours that changed jobs, latest first."""
        window = admin_page(request)
        found, total = undo.latest(self.principal.tenant, limit=window.limit, offset=window.offset)
        return Answer(listed([_encode(row) for row in found], total, window, "operations"))


class AdminOperation(OJSView):
    """One operation."""

    @operation("adminGetOperation", {200: DETAIL}, path=NUMBER, refusals=(404,))
    def get(self, request: Request, number: int) -> Answer:
        """Show an operation, with the jobs that its undo could not restore."""
        return Answer(_detail(undo.get(number, self.principal.tenant)))


class AdminOperationUndo(OJSView):
    """The undo of an operation."""

    @operation(
        "adminUndoOperation",
        {200: DETAIL, 202: DETAIL},
        path=NUMBER,
        body=obj({"confirm": {"const": True}}, {"reason": maybe(text())}),
        refusals=(404, 409),
    )
    def post(self, request: Request, number: int) -> Answer:
        """Give the jobs of an operation back what they were.

        200: complete. 202: the server goes on with the remaining jobs. Jobs that went on since stay
        as they are; the answer has the reason for each.
        """
        body = self.body()
        require_confirm(body)
        reason = optional_text(body, "reason")
        row = undo.get(number, self.principal.tenant)
        if permit := undo.permit_of(row):
            require(self, "adminUndoOperation", permit)
        elif self.principal.is_limited:
            self.principal.require_queues("undo changes of jobs", undo.queues_of(row.pk))
        row = undo.undo(row.pk, self.caller, reason)
        return Answer(_detail(row), status=200 if row.state == "undone" else 202)


class AdminBulkPreview(OJSView):
    """The preview of an operation on many jobs."""

    @operation("adminBulkPreview", {200: PREVIEW}, body=targets(ACTION, {}))
    def post(self, request: Request) -> Answer:
        """Count the jobs that a bulk operation would change, at most 10,000, and change none.

        Send `matched` as `expected` with the operation: it is refused if the number differs then.
        """
        body = self.body()
        if body.get("action") not in list(Verb):
            raise InvalidRequest.field("action", f"must be one of {', '.join(Verb)}")
        verb = Verb(body["action"])
        ids, wanted = decode_targets(body)
        require_covered(self.principal, ids, wanted.queue, wanted.type)
        if ids is None:
            seen = preview.of_filter(verb, wanted, most=MOST_MATCHES)
        else:
            seen = preview.of_ids(verb, ids, tenant=self.principal.tenant)
        return Answer(_encode_preview(verb, seen))


def _encode(row: Undo) -> dict[str, Any]:
    return {
        "id": row.pk,
        "at": format_time(row.at),
        "undo_until": format_time(row.until),
        "actor": row.actor,
        "action": row.action,
        "target": row.target,
        "reason": row.reason,
        "state": row.state,
        "jobs": row.jobs,
        "is_cut": row.is_cut,
        "restored": row.restored,
        "not_restored": row.left_out,
        "undone_by": row.undone_by,
        "undone_at": row.undone_at and format_time(row.undone_at),
    }


def _detail(row: Undo) -> dict[str, Any]:
    left = undo.left_out(row.pk, limit=LISTED) if row.left_out else []
    return {"operation": _encode(row), "not_restored": [_left(*one) for one in left]}


def _left(job_id: str, why: Outcome) -> dict[str, str]:
    return {"job_id": job_id, "code": why.value, "reason": REASONS[why]}


def _encode_preview(verb: Verb, seen: preview.Preview) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "action": verb.value,
        "matched": seen.jobs,
        "by_state": {state.value: number for state, number in seen.by_state.items()},
        "by_tenant": dict(seen.by_tenant),
        "oldest_at": seen.oldest_at and format_time(seen.oldest_at),
        "newest_at": seen.newest_at and format_time(seen.newest_at),
        "examples": [
            {
                "id": job.id, "type": job.type, "queue": job.queue, "tenant": job.tenant,
                "state": state_of(job.state).value,
            }
            for job in seen.examples
        ],
    }  # fmt: skip
    return shown | ({"truncated": True} if seen.is_truncated else {})
