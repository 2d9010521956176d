"""Endpoints under /ojs/v1/admin/routing.

Spec: job-versioning 10, 11.3; contract 22.3, 22.4.
"""

from functools import partial

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import TYPE
from jobs.api.wire.admin import list_of, listed
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from versioning.api import routing_codec as codec
from versioning.api.schema_codec import valid_type
from versioning.domain.canary_request import parse_wanted
from versioning.models import Routing
from versioning.services import routing
from versioning.services.observed import observed

PATH = {"type": TYPE}


def _detail(row: Routing) -> dict[str, object]:
    return codec.encode_detail(row, observed(row))


class RoutingCollection(OJSView):
    """List routing rules."""

    @operation("listRouting", {200: list_of(codec.RULES)}, query=NUMBERED)
    def get(self, request: Request) -> Answer:
        """List the types that have routing rules, by name."""
        window = admin_page(request)
        rows, total = routing.page(limit=window.limit, offset=window.offset)
        return Answer(listed([codec.encode_rules(row) for row in rows], total, window))


class RoutingDetail(OJSView):
    """Show, set or delete the routing rules of a type."""

    @operation("getRouting", {200: codec.RULES}, path=PATH, refusals=(404,))
    def get(self, request: Request, type: str) -> Answer:
        """Show the rules of a type and the outcomes of its versions; `rules` may be empty."""
        row = routing.find(codec.type_of_path(type))
        return Answer({"type": type, "rules": []} if row is None else _detail(row))

    @operation(
        "putRouting",
        {201: codec.RULES, 200: codec.RULES},
        body=codec.PUT,
        path=PATH,
        refusals=(409,),
    )
    def put(self, request: Request, type: str) -> Answer:
        """Set the share of a type's jobs that goes to the workers of each version.

        It applies to every job enqueued after the answer, at every server process; waiting jobs
        follow. It resets the outcomes and ends a rollback.
        """
        wanted = parse_wanted(valid_type(type, "type"), self.body())
        row, is_new = routing.put(wanted, self.caller)
        return Answer(_detail(row), status=201 if is_new else 200)

    @operation("deleteRouting", {204: None}, path=PATH, refusals=(404,))
    def delete(self, request: Request, type: str) -> Answer:
        """Delete the rules of a type; its jobs then follow their own versions."""
        routing.delete(codec.type_of_path(type), self.caller)
        return Answer(None, status=204)


class RoutingAction(OJSView):
    """Base of the actions on the rules of a type."""

    def revision(self) -> int | None:
        """Read the revision of the rules that are meant."""
        return codec.decode_act(self.optional_body())


_acts = partial(
    operation,
    answers={200: codec.RULES},
    body=codec.ACT,
    needs_body=False,
    path=PATH,
    refusals=(404, 409),
)


class RoutingPromotion(RoutingAction):
    """Promote the newest version."""

    @_acts("promoteRouting")
    def post(self, request: Request, type: str) -> Answer:
        """Take the next step of the plan; without a plan the newest version gets all jobs."""
        return Answer(
            _detail(
                routing.promote(codec.type_of_path(type), self.caller, revision=self.revision())
            )
        )


class RoutingPause(RoutingAction):
    """Pause a plan."""

    @_acts("pauseRouting")
    def post(self, request: Request, type: str) -> Answer:
        """Pause the automatic steps of the plan; a failing version is still rolled back."""
        row = routing.pause(
            codec.type_of_path(type), self.caller, is_paused=True, revision=self.revision()
        )
        return Answer(_detail(row))


class RoutingResumption(RoutingAction):
    """Resume a plan."""

    @_acts("resumeRouting")
    def post(self, request: Request, type: str) -> Answer:
        """Resume the plan; the bake time of its present step starts again."""
        row = routing.pause(
            codec.type_of_path(type), self.caller, is_paused=False, revision=self.revision()
        )
        return Answer(_detail(row))


class RoutingRollback(RoutingAction):
    """Roll back the newest version."""

    @_acts("rollBackRouting")
    def post(self, request: Request, type: str) -> Answer:
        """Send all jobs to the next version below the newest, at once; a plan is halted."""
        row = routing.roll_back(codec.type_of_path(type), self.caller, revision=self.revision())
        return Answer(_detail(row))
