"""Endpoints under /ojs/v1/admin/federation. Spec: contract 23.5, 31."""

from functools import partial
from typing import Any

from rest_framework.request import Request

from federation.api import codec, schemas
from federation.api.base import FederationView
from federation.domain.breaker import State
from federation.domain.errors import FederationConfigError
from federation.domain.region import Region
from federation.models import Region as Row
from federation.services.health import breakers
from federation.services.registry import configure
from federation.services.registry.regions import registry
from federation.services.registry.registry import stated
from federation.services.routing import route
from jobs.api.openapi import operation
from jobs.api.schemas import obj
from jobs.api.wire.admin import list_of, listed
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.domain.errors import Unprocessable

EXTENSION = "federation"
PATH: dict[str, Any] = {"region_id": schemas.REGION_ID}
EMPTY = obj({}, additionalProperties=False)


class RegionView(FederationView):
    """Base class: regions belong to no tenant."""

    def shown(self, row: Row, status: int = 200, **facts: Any) -> Answer:
        """Answer with a region and its health."""
        return Answer(codec.encode_region(row, registry()), status=status, **facts)

    def stored(self, wanted: Region, *, must_be_new: bool = False) -> Answer:
        """Store a region and answer with it."""
        row, is_new = configure.put_region(wanted, self.caller, must_be_new=must_be_new)
        location = {"Location": self.path(f"/admin/federation/regions/{row.id}")} if is_new else {}
        return self.shown(row, 201 if is_new else 200, headers=location)

    def require_nothing(self) -> None:
        """Refuse a body with members, which the request would ignore. Raises Unprocessable."""
        for name, value in self.optional_body().items():
            raise Unprocessable.field(name, "is not a member of this request", value)


class RegionCollection(RegionView):
    """The registry of regions."""

    @operation(
        "listRegions",
        {200: list_of(schemas.REGION, "regions")},
        query=NUMBERED,
        extension=EXTENSION,
    )
    def get(self, request: Request) -> Answer:
        """List the regions by id, with their health and load."""
        window, known = admin_page(request), registry()
        rows = configure.rows()
        page = rows[window.offset : window.offset + window.limit]
        items = [codec.encode_region(row, known) for row in page]
        return Answer(listed(items, rows.count(), window, "regions"))

    @operation(
        "createRegion",
        {201: schemas.REGION},
        body=schemas.POST,
        headers={201: ("Location",)},
        refusals=(409,),
        extension=EXTENSION,
    )
    def post(self, request: Request) -> Answer:
        """Register a region. Its token is stored encrypted, and never shown."""
        wanted = codec.decode_region(self.body())
        self.for_region(wanted.id, "id")
        return self.stored(wanted, must_be_new=True)


class RegionDetail(RegionView):
    """One region."""

    @operation("getRegion", {200: schemas.REGION}, path=PATH, refusals=(404,), extension=EXTENSION)
    def get(self, request: Request, region_id: str) -> Answer:
        """Show a region, its health and its load."""
        return self.shown(configure.find(region_id))

    @operation(
        "putRegion",
        {201: schemas.REGION, 200: schemas.REGION},
        body=schemas.PUT,
        path=PATH,
        extension=EXTENSION,
    )
    def put(self, request: Request, region_id: str) -> Answer:
        """Register a region or replace a registration; absent members get their defaults.

        The URL and the credentials of a region from the settings can be changed only in the
        settings.
        """
        known = stated().get(region_id)
        return self.stored(codec.decode_region(self.body(), region_id, known))

    @operation(
        "patchRegion",
        {200: schemas.REGION},
        body=schemas.PATCH,
        path=PATH,
        refusals=(404,),
        extension=EXTENSION,
    )
    def patch(self, request: Request, region_id: str) -> Answer:
        """Change the given members; `auth` is replaced as a whole, null removes it.

        A token that is not given stays, unless the URL leads to another server.
        """
        changed = partial(codec.decode_change, self.body())
        return self.shown(configure.change_region(region_id, changed, self.caller))

    @operation("deleteRegion", {204: None}, path=PATH, refusals=(404, 409), extension=EXTENSION)
    def delete(self, request: Request, region_id: str) -> Answer:
        """Remove a region from the registry; not the local region, nor one of the settings."""
        configure.delete_region(region_id, self.caller)
        return Answer(None, status=204)


class RegionProbe(RegionView):
    """Probes a region."""

    @operation(
        "probeRegion",
        {200: schemas.REGION},
        body=EMPTY,
        needs_body=False,
        path=PATH,
        refusals=(404, 409),
        extension=EXTENSION,
    )
    def post(self, request: Request, region_id: str) -> Answer:
        """Probe the health of a region now. While its breaker is open no request is sent."""
        self.require_nothing()
        configure.find(region_id)
        route.probe_all([region_id], registry().configured)
        return self.shown(configure.find(region_id))


class RegionBreaker(RegionView):
    """Opens and closes a breaker by hand."""

    @operation(
        "setRegionBreaker",
        {200: schemas.REGION},
        body=obj(
            {"state": {"type": "string", "enum": ["open", "closed"]}}, additionalProperties=False
        ),
        path=PATH,
        refusals=(404,),
        extension=EXTENSION,
    )
    def post(self, request: Request, region_id: str) -> Answer:
        """Open the breaker of a region until it is closed by hand, or close it."""
        body = self.body()
        for name, value in body.items():
            if name != "state":
                raise Unprocessable.field(name, "is not a member of this request", value)
        if body.get("state") not in ("open", "closed"):  # a tuple: the value may be unhashable
            raise FederationConfigError.field("state", "must be open or closed", body.get("state"))
        breakers.force(region_id, State(body["state"]), self.caller)
        return self.shown(configure.find(region_id))


class RegionDrain(RegionView):
    """Stops the routing of new jobs to a region."""

    drain = True

    @operation(
        "drainRegion",
        {200: schemas.REGION},
        body=EMPTY,
        needs_body=False,
        path=PATH,
        refusals=(404,),
        extension=EXTENSION,
    )
    def post(self, request: Request, region_id: str) -> Answer:
        """Route no new jobs to a region, not even pinned jobs; the jobs that it has stay there."""
        return self.set(region_id)

    def set(self, region_id: str) -> Answer:
        """Set whether the region drains."""
        self.require_nothing()
        return self.shown(configure.set_drain(region_id, self.caller, drain=self.drain))


class RegionUndrain(RegionDrain):
    """Allows the routing of jobs to a region again."""

    drain = False

    @operation(
        "undrainRegion",
        {200: schemas.REGION},
        body=EMPTY,
        needs_body=False,
        path=PATH,
        refusals=(404,),
        extension=EXTENSION,
    )
    def post(self, request: Request, region_id: str) -> Answer:
        """Route jobs to a region again."""
        return self.set(region_id)


class Configuration(RegionView):
    """The configuration of the federation."""

    @operation("getFederationConfig", {200: schemas.CONFIG}, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """Show the configuration in force; `problem` has the reason if there is none."""
        known = registry()
        return Answer(codec.encode_config(known.config, known.problem))

    @operation(
        "putFederationConfig", {200: schemas.CONFIG}, body=schemas.PUT_CONFIG, extension=EXTENSION
    )
    def put(self, request: Request) -> Answer:
        """Replace the configuration of the federation.

        An absent member has the value of the server's settings, else its default. Regions must be
        registered before.
        """
        configure.put_configuration(codec.decode_config(self.body()), self.caller)
        return self.get(request)
