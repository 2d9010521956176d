"""Endpoints under /ojs/v1/admin/routing. Spec: job-versioning 10, 11.3; contract 22.3, 22.4."""

from functools import partial

from rest_framework.request import Request

from jobs.api.admin.base import list_of, listed
from jobs.api.answer import Answer
from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.paging import NUMBERED, admin_page
from jobs.api.schemas import TYPE
from jobs.domain.envelope import MAX_TYPE, TYPE_PATTERN
from jobs.domain.errors import NotFound
from versioning.api import routing_codec as codec
from versioning.api.schema_codec import known_type
from versioning.domain.canary_request import parse_wanted
from versioning.models import Routing
from versioning.services import routing
from versioning.services.observed import observed

PATH = {"type": TYPE}


def _known(job_type: str) -> str:
    """Return a type that there could be. Raises NotFound."""
    if len(job_type) > MAX_TYPE or not TYPE_PATTERN.fullmatch(job_type):
        raise NotFound.of("type", job_type)
    return job_type


def _detail(row: Routing) -> dict[str, object]:
    return codec.encode_detail(row, observed(row))


class RoutingCollection(OJSView):
    """All rules."""

    @operation("listRouting", {200: list_of(codec.RULES)}, query=NUMBERED)
    def get(self, request: Request) -> Answer:
        """List the types that have routing rules, by name."""
        window = admin_page(request)
        rows, total = routing.page(limit=window.limit, offset=window.offset)
        return Answer(listed([codec.encode_rules(row) for row in rows], total, window))


class RoutingDetail(OJSView):
    """The rules of one type."""

    @operation("getRouting", {200: codec.RULES}, path=PATH, refusals=(404,))
    def get(self, request: Request, type: str) -> Answer:
        """Show the rules of a type and how its versions did; without any `rules` is empty."""
        row = routing.find(_known(type))
        return Answer({"type": type, "rules": []} if row is None else _detail(row))

    @operation(
        "putRouting",
        {201: codec.RULES, 200: codec.RULES},
        body=codec.PUT,
        path=PATH,
        refusals=(409,),
    )
    def put(self, request: Request, type: str) -> Answer:
        """Send so many of the jobs of a type to the workers of each version.

        Counts for every job enqueued after the answer, at every server process; those that wait
        follow. Outcomes so far are forgotten, and a rollback is over.
        """
        wanted = parse_wanted(known_type(type, "type"), self.body())
        row, is_new = routing.put(wanted, self.caller)
        return Answer(_detail(row), status=201 if is_new else 200)

    @operation("deleteRouting", {204: None}, path=PATH, refusals=(404,))
    def delete(self, request: Request, type: str) -> Answer:
        """Remove the rules of a type: its jobs go by their own versions."""
        routing.delete(_known(type), self.caller)
        return Answer(None, status=204)


class RoutingAction(OJSView):
    """One thing done to the rules of a type."""

    def revision(self) -> int | None:
        """Read which rules are meant."""
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
    """More for the newest version."""

    @_acts("promoteRouting")
    def post(self, request: Request, type: str) -> Answer:
        """Do the next step of the plan; without one the newest version gets all jobs."""
        return Answer(_detail(routing.promote(_known(type), self.caller, revision=self.revision())))


class RoutingPause(RoutingAction):
    """A plan that stands still."""

    @_acts("pauseRouting")
    def post(self, request: Request, type: str) -> Answer:
        """Let no step of the plan follow by itself; a version that fails is still taken back."""
        row = routing.pause(_known(type), self.caller, is_paused=True, revision=self.revision())
        return Answer(_detail(row))


class RoutingResumption(RoutingAction):
    """A plan that goes on."""

    @_acts("resumeRouting")
    def post(self, request: Request, type: str) -> Answer:
        """Let the plan go on; the bake time of its present step begins anew."""
        row = routing.pause(_known(type), self.caller, is_paused=False, revision=self.revision())
        return Answer(_detail(row))


class RoutingRollback(RoutingAction):
    """A version that is taken back."""

    @_acts("rollBackRouting")
    def post(self, request: Request, type: str) -> Answer:
        """Send all jobs to the next lower version than the newest, at once; a plan is halted."""
        row = routing.roll_back(_known(type), self.caller, revision=self.revision())
        return Answer(_detail(row))
