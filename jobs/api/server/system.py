"""Reset of the whole store, for test runs. Spec: contract 3.2."""

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.wire.answer import Answer
from jobs.conf import conf
from jobs.domain.errors import NotFound
from jobs.services.upkeep.reset import reset


class Reset(OJSView):
    """Deletes all data; exists only for test runs."""

    @operation("reset", {204: None}, refusals=(404,))
    def post(self, request: Request) -> Answer:
        """Delete all jobs. 404 unless OJS_ALLOW_RESET is on."""
        if not conf().allow_reset:
            raise NotFound("no such resource")
        reset()
        return Answer(None, status=204)
