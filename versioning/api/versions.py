"""Endpoint /ojs/v1/admin/versions/{type}. Spec: contract 22.3."""

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import BOOLEAN, TIME, TYPE, array, integer, maybe, obj, text
from jobs.api.wire.answer import Answer
from jobs.domain.errors import NotFound
from jobs.domain.wire.bounds import MAX_TYPE
from jobs.domain.wire.names import TYPE_PATTERN
from versioning.domain.removal import Safe, Why
from versioning.services.contract import Assessment, assess
from versioning.services.contract_shape import encode, encode_use
from versioning.services.versions import versions

SAFE = {"type": "string", "enum": [str(one) for one in Safe]}
COUNTED = ("available", "active", "scheduled", "retryable", "pending")
USE = {
    **dict.fromkeys((*COUNTED, "dead_letters", "workers", "unheard"), integer(0)),
    "at_least": array({"type": "string", "enum": list(COUNTED)}),
    "last_sent_at": maybe(TIME),
    "will_be_sent": array(
        obj({"source": text(1), "senders": integer(0), "resting": integer(0)}),
    ),
}
VERSION = obj({"version": text(1), **USE})
ACCEPTS = obj(
    {
        "declared": maybe(array(text(1))),
        "accepted": array(text(1)),
        "workers": integer(0),
        "unheard": integer(0),
    }
)
REASON = obj(
    {
        "code": {"type": "string", "enum": [str(one) for one in Why]},
        "message": text(1),
        "allows": SAFE,
    }
)
REMOVAL = obj({"versions": text(1), "safe": SAFE, "reasons": array(REASON)})
VERSIONS = obj(
    {
        "type": text(1),
        "versions": array(VERSION),
        "held": integer(0),
        "unversioned": obj(USE),
        "accepts": array(ACCEPTS),
        "sent_known_since": maybe(TIME),
        "dead_letters_at_least": BOOLEAN,
        "removals": array(REMOVAL),
    }
)


class TypeVersionsView(OJSView):
    """Jobs, workers and removability of the versions of a type."""

    @operation("getTypeVersions", {200: VERSIONS}, path={"type": TYPE}, refusals=(404,))
    def get(self, request: Request, type: str) -> Answer:
        """Count jobs by version with the workers that accept it; `held`: no worker accepts them.

        `removals` states for each major version whether its handlers can be removed, and why.
        Counts are bounded: in the states of `at_least` there may be more jobs. Callers bound to a
        tenant have no access, since workers are shared.
        """
        if len(type) > MAX_TYPE or not TYPE_PATTERN.fullmatch(type):
            raise NotFound.of("type", type)
        return Answer(_shown(assess(type), versions(type).held))


def _shown(found: Assessment, held: int) -> dict[str, object]:
    return {
        "type": found.type,
        "versions": [{"version": str(use.version), **encode_use(use)} for use in found.uses],
        "held": held,
        **encode(found),
    }
