"""Endpoints under /ojs/v1/admin/jobs/bulk. Spec: contract 24.1."""

from collections.abc import Mapping
from typing import Any, ClassVar

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.jobs.targets import MOST_MATCHES, decode_targets, require_covered, targets
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, array, integer, maybe, obj, text
from jobs.api.wire.answer import Answer
from jobs.domain.errors import ConfirmationRequired, Conflict, InvalidRequest
from jobs.domain.outcome.bulk import JobFilter, Verb
from jobs.services.operate import preview
from jobs.services.operate.bulk import Report
from jobs.services.operate.operate import many, matching

MOST_ERRORS = 100

EXPECTED = {"expected": maybe({**integer(0), "description": "`matched` of the preview"})}
ADMIN_TARGETS = targets({"confirm": {"const": True}}, EXPECTED)
ADMIN_DONE = obj(
    {
        "action": text(1),
        "matched": integer(0),
        "succeeded": integer(0),
        "failed": integer(0),
        "errors": array(obj({"job_id": text(), "error": text()})),
    },
    {"truncated": BOOLEAN},
)


class AdminVerb(OJSView):
    """One verb on jobs of all tenants, after a confirmation."""

    verb: ClassVar[Verb]

    def act(self) -> Answer:
        """Read the request and apply the verb."""
        body = self.body()
        if body.get("confirm") is not True:
            raise ConfirmationRequired(
                "confirm must be true", details={"field": "confirm", "expected": True}
            )
        ids, wanted = decode_targets(body)
        require_covered(self.principal, ids, wanted.queue, wanted.type)
        _check_expected(self.verb, body.get("expected"), ids, wanted)
        why: Mapping[str, str] = {}
        if ids is not None:
            report, why = many(self.verb, ids, self.caller)
        else:
            report = matching(self.verb, wanted, self.caller, most=MOST_MATCHES)
        return Answer(self._shown(report, why))

    def _shown(self, report: Report, why: Mapping[str, str]) -> dict[str, Any]:
        shown: dict[str, Any] = {
            "action": self.verb.value,
            "matched": report.matched,
            "succeeded": len(report.done),
            "failed": len(report.skipped),
            "errors": [
                {"job_id": job_id, "error": why.get(job_id, "moved")}
                for job_id in report.skipped[:MOST_ERRORS]
            ],
        }
        if report.is_truncated:
            shown["truncated"] = True
        return shown


def _check_expected(verb: Verb, expected: object, ids: list[str] | None, wanted: JobFilter) -> None:
    """Refuse an operation that would change another number of jobs than its preview had."""
    if expected is None:
        return
    if not isinstance(expected, int) or isinstance(expected, bool) or expected < 0:
        raise InvalidRequest.field("expected", "must be a whole number", expected)
    if ids is None:
        seen = preview.of_filter(verb, wanted, most=MOST_MATCHES)
    else:
        seen = preview.of_ids(verb, ids, tenant=None)
    if seen.jobs != expected:
        raise Conflict(
            f"the operation would change {seen.jobs} jobs instead of {expected}",
            details={"field": "expected", "matched": seen.jobs, "expected": expected},
        )


class AdminBulkCancel(AdminVerb):
    """CANCEL of many jobs."""

    verb = Verb.CANCEL

    @operation("adminBulkCancel", {200: ADMIN_DONE}, body=ADMIN_TARGETS, refusals=(409,))
    def post(self, request: Request) -> Answer:
        """Cancel jobs by id or filter, at most 10,000; running ones where `state` names them."""
        return self.act()


class AdminBulkRetry(AdminVerb):
    """Manual retry of many jobs."""

    verb = Verb.RETRY

    @operation("adminBulkRetry", {200: ADMIN_DONE}, body=ADMIN_TARGETS, refusals=(409,))
    def post(self, request: Request) -> Answer:
        """Make ended and retryable jobs available by id or filter, at most 10,000.

        A filter selects discarded and retryable jobs; cancelled jobs only if `state` names them.
        """
        return self.act()


class AdminBulkDelete(AdminVerb):
    """Removal of many jobs."""

    verb = Verb.DELETE

    @operation("adminBulkDelete", {200: ADMIN_DONE}, body=ADMIN_TARGETS, refusals=(409,))
    def post(self, request: Request) -> Answer:
        """Delete ended jobs for good by id or filter, at most 10,000."""
        return self.act()
