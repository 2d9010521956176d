"""The paths of the series as requests."""

from collections.abc import Callable
from functools import partial

from bench import requests
from bench.load import Cycle, drive
from bench.names import CLAIMED, META
from bench.scale.measure import Load, Point

BACKLOG_TENANT = "tenant-1"
FEW_ENDED, MAKERS, MAKE_S = 100, 4, 0.5


def _enqueue(point: Point) -> Callable[[], Cycle]:
    return requests.enqueue(1, point.key)


def _enqueue_behind(point: Point) -> Callable[[], Cycle]:
    meta = {**META, "tenant_id": BACKLOG_TENANT}
    return requests.enqueue(1, point.key, queue=CLAIMED, meta=meta)


def _cycle(point: Point) -> Callable[[], Cycle]:
    return requests.cycle(point.key)


def _claim(batch: int, point: Point) -> Callable[[], Cycle]:
    return requests.claim(batch, point.key)


def _get(point: Point) -> Callable[[], Cycle]:
    if len(point.ended()) < FEW_ENDED:
        end_some(point)
    return requests.get(point.key, point.ended())


def _listed(point: Point) -> Callable[[], Cycle]:
    if len(point.ended()) < FEW_ENDED:
        end_some(point)
    return requests.listed(point.key, "completed")


def end_some(point: Point) -> None:
    """Run some jobs to their end."""
    drive(point.port, _cycle(point), MAKERS, MAKE_S)


ENQUEUE = Load("POST /jobs", _enqueue)
BEHIND = Load("POST /jobs", _enqueue_behind)
CYCLE = Load("enqueue, FETCH of 1, ACK", _cycle)
FETCH = Load("FETCH of 1, ACK", partial(_claim, 1))
FETCH50 = Load("FETCH of 50, batch of ACKs", partial(_claim, 50))
GET = Load("GET of one ended job", _get)
LIST = Load("list of 50 ended jobs", _listed)
