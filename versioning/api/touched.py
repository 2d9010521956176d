"""Endpoint /ojs/v1/admin/versions/{type}/touched: jobs with attempts of a version."""

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import TYPE
from jobs.api.wire.admin import chosen, list_of, listed
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import MAX_PER_PAGE, NUMBERED, Page, admin_page
from jobs.domain.errors import InvalidRequest
from versioning.api import routing_codec as codec
from versioning.api.schema_codec import SENT_VERSION
from versioning.domain.version import Version, parse_version
from versioning.services import touched, types

ENDS = {ended: failed for failed, ended in codec.ENDS.items()}


class TouchedJobs(OJSView):
    """The last jobs of a canary."""

    @may_lag
    @operation(
        "listTouchedJobs",
        {200: list_of(codec.TOUCHED)},
        path={"type": TYPE},
        query={
            **NUMBERED,
            "version": SENT_VERSION,
            "ended": {"type": "string", "enum": [*ENDS, ""]},
        },
        refusals=(404,),
    )
    def get(self, request: Request, type: str) -> Answer:
        """List the last jobs whose attempts by workers of a version ended, latest first.

        An absent `version` means the version that was rolled back last; if there is none, the list
        is empty. Only canaries are recorded: up to 1,000 failed and as many acknowledged jobs of
        each version key, for 30 days. At most 100 at once.
        """
        asked = admin_page(request)
        window = Page(min(asked.limit, MAX_PER_PAGE), asked.offset)
        failed = ENDS.get(chosen(request, "ended", (*ENDS, "")))
        job_type = codec.type_of_path(type)
        version = _version(request) or types.taken_back(job_type)
        if version is None:
            return Answer(listed([], 0, window))
        found = touched.touched(
            job_type, version, failed=failed, limit=window.limit, offset=window.offset
        )
        total = touched.count(job_type, version, failed=failed)
        return Answer(listed([codec.encode_touched(one) for one in found], total, window))


def _version(request: Request) -> Version | None:
    raw = request.query_params.get("version")  # an empty value is an error
    if raw is None:
        return None
    try:
        return parse_version(raw)
    except ValueError as problem:
        raise InvalidRequest.field("version", str(problem), raw) from None
