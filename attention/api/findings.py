"""Endpoints below /ojs/v1/admin/attention: the list of findings, one finding, its mute."""

from rest_framework.request import Request

from attention.api import codec
from attention.services import mute as mutes
from attention.services.listing import Kept, listed, show
from attention.services.radius import blast_radius
from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import (
    NUMBER,
    OBJECT,
    SHORT_DURATION,
    TIME,
    array,
    component,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.wire import admin
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.domain.access.caller import MAX_REASON

EXTENSION = "attention"
ID = {"finding_id": text(1)}
REMEDY = obj({"label": text(1), **{name: maybe(text()) for name in ("action", "target", "href")}})
FIELDS = {
    "id": maybe(text(1)),
    **{name: text(1) for name in ("rule", "title", "subject", "subject_kind", "text")},
    "severity": {"enum": ["notice", "warning", "critical"]},
    "cause": text(),
    "since": TIME,
    "ended_at": maybe(TIME),
    "jobs": integer(0),
    "tenants": integer(0),
    "tenant_id": maybe(text()),
    "remedies": array(REMEDY),
    "mute": maybe(obj({"reason": text(1), "until": TIME, "actor": text(), "at": TIME})),
}
FINDING = component("Finding", obj(FIELDS))
SHARE = obj({"value": text(), "percent": NUMBER, "other_percent": maybe(NUMBER)})
RADIUS = obj(
    {
        "jobs": integer(0),
        "other_jobs": integer(0),
        "shared": {"type": "object", "additionalProperties": array(SHARE)},
    }
)
SHOWN = obj({**FIELDS, "blast_radius": maybe(RADIUS)})


class FindingCollection(OJSView):
    """List findings."""

    @operation(
        "listFindings",
        {200: admin.list_of(FINDING, "findings")},
        query={"state": {"enum": [str(one) for one in Kept]}, **NUMBERED},
        extension=EXTENSION,
    )
    def get(self, request: Request) -> Answer:
        """List findings: open ones worst first, `state=muted`, or `state=ended` latest first."""
        window = admin_page(request)
        state = Kept(admin.chosen(request, "state", [str(one) for one in Kept], Kept.OPEN))
        found = listed(self.principal.tenant, state)
        page = found[window.offset : window.offset + window.limit]
        items = [codec.encode_finding(one) for one in page]
        return Answer(admin.listed(items, len(found), window, "findings"))


class FindingDetail(OJSView):
    """One finding."""

    @operation("getFinding", {200: SHOWN}, refusals=(404,), path=ID, extension=EXTENSION)
    def get(self, request: Request, finding_id: str) -> Answer:
        """Show a finding with its blast radius: the values that its jobs share."""
        tenant = self.principal.tenant
        found = show(finding_id, tenant)
        radius = None if tenant or found.ended_at else blast_radius(found)
        shown = codec.encode_finding(found)
        return Answer({**shown, "blast_radius": codec.encode_radius(radius)})


class FindingMute(OJSView):
    """Mute a finding."""

    @operation(
        "muteFinding",
        {200: FINDING},
        body=obj({"reason": text(1, MAX_REASON), "duration": SHORT_DURATION}),
        refusals=(404,),
        path=ID,
        extension=EXTENSION,
    )
    def post(self, request: Request, finding_id: str) -> Answer:
        """Hide a finding and its returns for a time; needs a reason."""
        reason, duration = codec.decode_mute(self.body())
        found = mutes.mute(finding_id, reason, duration, self.caller)
        return Answer(codec.encode_finding(found))


class FindingUnmute(OJSView):
    """End the mute of a finding."""

    @operation(
        "unmuteFinding",
        {200: FINDING},
        body=OBJECT,
        needs_body=False,
        refusals=(404,),
        path=ID,
        extension=EXTENSION,
    )
    def post(self, request: Request, finding_id: str) -> Answer:
        """Show a muted finding in all lists again; idempotent."""
        self.optional_body()
        return Answer(codec.encode_finding(mutes.unmute(finding_id, self.caller)))
