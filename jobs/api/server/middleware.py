"""GET /ojs/v1/middleware. Spec: contract 24.5, 24.7."""

from typing import Any

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.openapi import operation
from jobs.api.schemas import array, integer, obj, text
from jobs.api.wire.answer import Answer
from jobs.services.enqueue.chains import Station, enqueue_stations, execution_stations

STATIONS = array(
    obj(
        {
            "name": text(1),
            "phase": {"type": "string", "enum": ["enqueue", "execution"]},
            "origin": {"type": "string", "enum": ["server", "middleware", "extension"]},
            "order": integer(1),
            "description": text(),
        }
    )
)


class MiddlewareChains(OJSView):
    """The middleware of jobs at enqueue and at execution."""

    @operation("listMiddleware", {200: obj({"enqueue": STATIONS, "execution": STATIONS})})
    def get(self, request: Request) -> Answer:
        """List the steps of enqueue and of execution, from the first to the last."""
        return Answer(
            {
                "enqueue": _shown("enqueue", enqueue_stations()),
                "execution": _shown("execution", execution_stations()),
            }
        )


def _shown(phase: str, stations: list[Station]) -> list[dict[str, Any]]:
    return [
        {
            "name": station.name,
            "phase": phase,
            "origin": station.origin,
            "order": order,
            "description": station.description,
        }
        for order, station in enumerate(stations, 1)
    ]
