"""Endpoints under /ojs/v1/admin/federation. Spec: contract 23.5, 31."""

from functools import partial
from typing import Any

from rest_framework.request import Request

from federation.api import codec
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
from jobs.api.admin.base import list_of, listed
from jobs.api.answer import Answer
from jobs.api.openapi import operation
from jobs.api.paging import NUMBERED, admin_page
from jobs.api.schemas import obj
from jobs.domain.errors import Unprocessable

EXTENSION = "federation"
PATH: dict[str, Any] = {"region_id": codec.REGION_ID}
EMPTY = obj({}, additionalProperties=False)


class RegionView(FederationView):
    """Regions concern all tenants."""

    def shown(self, row: Row, status: int = 200, **facts: Any) -> Answer:
        """Answer with a region and how it is."""
        return Answer(codec.encode_region(row, registry()), status=status, **facts)

    def stored(self, wanted: Region, *, must_be_new: bool = False) -> Answer:
        """Store a region and answer with it."""
        row, is_new = configure.put_region(wanted, self.caller, must_be_new=must_be_new)
        location = {"Location": f"/ojs/v1/admin/federation/regions/{row.id}"} if is_new else {}
        return self.shown(row, 201 if is_new else 200, headers=location)

    def require_nothing(self) -> None:
        """Refuse members that nobody would read. Raises Unprocessable."""
        for name, value in self.optional_body().items():
            raise Unprocessable.field(name, "is not a member of this request", value)


class RegionCollection(RegionView):
    """The registry."""

    @operation(
        "listRegions",
        {200: list_of(codec.REGION, "regions")},
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
        {201: codec.REGION},
        body=codec.POST,
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

    @operation("getRegion", {200: codec.REGION}, path=PATH, refusals=(404,), extension=EXTENSION)
    def get(self, request: Request, region_id: str) -> Answer:
        """Show a region, its health and its load."""
        return self.shown(configure.find(region_id))

    @operation(
        "putRegion",
        {201: codec.REGION, 200: codec.REGION},
        body=codec.PUT,
        path=PATH,
        extension=EXTENSION,
    )
    def put(self, request: Request, region_id: str) -> Answer:
        """Register a region in place of what was said before; what is absent gets its default.

        The URL and the credentials of a region of the settings are changed there alone.
        """
        known = stated().get(region_id)
        return self.stored(codec.decode_region(self.body(), region_id, known))

    @operation(
        "patchRegion",
        {200: codec.REGION},
        body=codec.PATCH,
        path=PATH,
        refusals=(404,),
        extension=EXTENSION,
    )
    def patch(self, request: Request, region_id: str) -> Answer:
        """Change the members that are given; `auth` is replaced as a whole, null: none.

        A token that is not given stays, unless the URL leads to another server.
        """
        changed = partial(codec.decode_change, self.body())
        return self.shown(configure.change_region(region_id, changed, self.caller))

    @operation("deleteRegion", {204: None}, path=PATH, refusals=(404, 409), extension=EXTENSION)
    def delete(self, request: Request, region_id: str) -> Answer:
        """Take a region out of the registry; neither the local one nor one of the settings."""
        configure.delete_region(region_id, self.caller)
        return Answer(None, status=204)


class RegionProbe(RegionView):
    """Ask a region."""

    @operation(
        "probeRegion",
        {200: codec.REGION},
        body=EMPTY,
        needs_body=False,
        path=PATH,
        refusals=(404, 409),
        extension=EXTENSION,
    )
    def post(self, request: Request, region_id: str) -> Answer:
        """Ask a region how it is, now. While its breaker is open nothing is sent."""
        self.require_nothing()
        configure.find(region_id)
        route.probe_all([region_id], registry().configured)
        return self.shown(configure.find(region_id))


class RegionBreaker(RegionView):
    """Open and close by hand."""

    @operation(
        "setRegionBreaker",
        {200: codec.REGION},
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
        if body.get("state") not in ("open", "closed"):  # a list: it may be unhashable
            raise FederationConfigError.field("state", "must be open or closed", body.get("state"))
        breakers.force(region_id, State(body["state"]), self.caller)
        return self.shown(configure.find(region_id))


class RegionDrain(RegionView):
    """Let a region take no new jobs."""

    drain = True

    @operation(
        "drainRegion",
        {200: codec.REGION},
        body=EMPTY,
        needs_body=False,
        path=PATH,
        refusals=(404,),
        extension=EXTENSION,
    )
    def post(self, request: Request, region_id: str) -> Answer:
        """Route no new jobs to a region, pinned ones neither; those it has stay."""
        return self.set(region_id)

    def set(self, region_id: str) -> Answer:
        """Set whether it drains."""
        self.require_nothing()
        return self.shown(configure.set_drain(region_id, self.caller, drain=self.drain))


class RegionUndrain(RegionDrain):
    """Let it take jobs again."""

    drain = False

    @operation(
        "undrainRegion",
        {200: codec.REGION},
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
    """The federation as a whole."""

    @operation("getFederationConfig", {200: codec.CONFIG}, extension=EXTENSION)
    def get(self, request: Request) -> Answer:
        """Show the configuration in force; `problem` tells why there is none."""
        known = registry()
        return Answer(codec.encode_config(known.config, known.problem))

    @operation(
        "putFederationConfig", {200: codec.CONFIG}, body=codec.PUT_CONFIG, extension=EXTENSION
    )
    def put(self, request: Request) -> Answer:
        """Say what the federation is, in place of what was said by PUT before.

        What is absent is as the settings of the server have it, else the default. Regions have to
        be registered before.
        """
        configure.put_configuration(codec.decode_config(self.body()), self.caller)
        return self.get(request)
