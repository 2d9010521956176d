"""The paths of the series as requests."""

from collections.abc import Callable, Sequence
from functools import partial

from bench import requests
from bench.load import Cycle, drive
from bench.names import CLAIMED, META
from bench.scale.measure import Load, Point

BACKLOG_TENANT = "tenant-1"
LISTED = 50  # ended jobs that a list shows
MAKERS, MAKE_S = 4, 0.5


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
    return requests.get(point.key, _ended(point))


def _listed(point: Point) -> Callable[[], Cycle]:
    _ended(point)
    return requests.listed(point.key, "completed", LISTED)


def _ended(point: Point) -> Sequence[str]:
    """Return ids of ended jobs; first run some to their end if there are too few."""
    while len(found := point.ended()) < LISTED:
        drive(point.port, _cycle(point), MAKERS, MAKE_S)
    return found


ENQUEUE = Load("POST /jobs", _enqueue)
BEHIND = Load("POST /jobs", _enqueue_behind)
CYCLE = Load("enqueue, FETCH of 1, ACK", _cycle)
FETCH = Load("FETCH of 1, ACK", partial(_claim, 1))
FETCH50 = Load("FETCH of 50, batch of ACKs", partial(_claim, 50))
GET = Load("GET of one ended job", _get, "request")
LIST = Load("list of 50 ended jobs", _listed, "request")
