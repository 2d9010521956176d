"""Endpoint /ojs/v1/admin/versions/{type}. Spec: contract 22 §3."""

from rest_framework.request import Request

from jobs.api.admin.base import ReadView
from jobs.api.answer import Answer
from jobs.api.openapi import operation
from jobs.api.schemas import TYPE, array, integer, obj, text
from jobs.domain.envelope import MAX_TYPE, TYPE_PATTERN
from jobs.domain.errors import NotFound
from versioning.services.versions import TypeVersions, versions

VERSION = obj(
    {"version": text(1), "available": integer(0), "active": integer(0), "workers": integer(0)}
)
VERSIONS = obj({"type": text(1), "versions": array(VERSION), "held": integer(0)})


class TypeVersionsView(ReadView):
    """What is there of each version of a type."""

    @operation("getTypeVersions", {200: VERSIONS}, path={"type": TYPE}, refusals=(404,))
    def get(self, request: Request, type: str) -> Answer:
        """Count jobs by version with the workers that accept it; `held`: no worker accepts them.

        Counts end at 10,000 jobs of a queue, priority and tenant. Jobs without a version are not
        among them. Callers bound to a tenant may not ask: workers are shared.
        """
        self.principal.require_any_tenant("see versions of all tenants' jobs")
        if len(type) > MAX_TYPE or not TYPE_PATTERN.fullmatch(type):
            raise NotFound.of("type", type)
        return Answer(encode(versions(type)))


def encode(found: TypeVersions) -> dict[str, object]:
    """Encode the answer."""
    return {
        "type": found.type,
        "versions": [
            {
                "version": str(one.version),
                "available": one.available,
                "active": one.active,
                "workers": one.workers,
            }
            for one in found.versions
        ],
        "held": found.held,
    }
