"""Endpoints under /ojs/v1/admin/pools and /ojs/v1/admin/scheduling. Spec: contract 20.3."""

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.wire.admin import chosen, list_of, listed
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.api.workers.schemas import POOL as NAME
from scheduling.api.pool_codec import (
    CONFIGURATION,
    CONFIGURE,
    DETAIL,
    POOL,
    PUT,
    both,
    decode_defaults,
    encode_defaults,
    encode_pool,
)
from scheduling.domain.pool_request import parse_pool
from scheduling.services import configuration, pools


class PoolCollection(OJSView):
    """List pools."""

    @operation("listPools", {200: list_of(POOL, "pools")}, query=NUMBERED)
    def get(self, request: Request) -> Answer:
        """List pools by name, with their live workers and active jobs."""
        window = admin_page(request)
        found, total = pools.page(limit=window.limit, offset=window.offset)
        return Answer(listed([encode_pool(one) for one in found], total, window, "pools"))


class PoolDetail(OJSView):
    """Show, define or delete a pool."""

    @operation("getPool", {200: DETAIL}, path={"name": NAME}, refusals=(404,))
    def get(self, request: Request, name: str) -> Answer:
        """Show a pool, its live workers and active jobs."""
        return Answer(both(pools.find(name)))

    @operation(
        "putPool", {201: DETAIL, 200: DETAIL}, body=PUT, path={"name": NAME}, refusals=(409,)
    )
    def put(self, request: Request, name: str) -> Answer:
        """Define a pool, or replace the pool of this name; absent members get their default.

        Every server process applies it to each FETCH that comes after the answer.
        """
        state, is_new = pools.put(parse_pool(name, self.body()), self.caller)
        return Answer(both(state), status=201 if is_new else 200)

    @operation(
        "deletePool",
        {204: None},
        path={"name": NAME},
        query={"force": {"type": "string", "enum": ["true", "false", ""]}},
        refusals=(404, 409),
    )
    def delete(self, request: Request, name: str) -> Answer:
        """Delete a pool; with live workers only if `force=true`."""
        force = chosen(request, "force", ("true", "false")) == "true"
        pools.delete(name, self.caller, force=force)
        return Answer(None, status=204)


class SchedulingConfiguration(OJSView):
    """Scheduling defaults without a pool."""

    @operation("getSchedulingConfig", {200: CONFIGURATION})
    def get(self, request: Request) -> Answer:
        """Show the effective configuration."""
        return Answer(encode_defaults(configuration.defaults()))

    @operation("setSchedulingConfig", {200: CONFIGURATION}, body=CONFIGURE)
    def put(self, request: Request) -> Answer:
        """Set the configuration; the server's settings decide absent members."""
        wanted = decode_defaults(self.body())
        return Answer(encode_defaults(configuration.configure(wanted, self.caller)))
