"""Routing rules under concurrency: real threads and commits. Spec: contract 22.4."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.db.models.functions import Now

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.errors import Conflict
from jobs.domain.record.events import Kind
from jobs.models import Event, Job, LaneKey
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.lanes import configuration
from ojs_tasks.versions import parse_version
from tests.concurrency import at_once, threads, wait_until_blocked
from tests.factories import DraftFactory
from tests.spec import spec
from tests.versioning.routing import redrawn
from versioning.domain.canary_request import parse_wanted
from versioning.domain.declaration import declared
from versioning.domain.evidence import Outcomes
from versioning.models import Redrawing, Rollback, Routing
from versioning.services import routing, rule_cache
from versioning.services.routes import route_of
from versioning.services.routing import Verdict

pytestmark = pytest.mark.usefixtures("store")

TYPE = "races.canary"
GUARD = {"error_rate_threshold": 0.05}
SEEN = Outcomes(0, 20)


def put(new: float, old: float = 50, /, **more: Any) -> Routing:
    rules = [{"version": "2.0", "weight": new}, {"version": "1.0", "weight": old}]
    row, _ = routing.put(parse_wanted(TYPE, {"rules": rules, "auto_rollback": GUARD, **more}))
    return row


def produce(number: int) -> list[str]:
    ids = []
    for _ in range(number):
        (job,) = enqueue([DraftFactory.create(type=TYPE, queue="canary")])
        assert job is not None
        ids.append(job.id)
    return ids


def work(version: str) -> list[str]:
    handlers = [{"type": TYPE, "versions": version}]
    wanted = FetchRequest(("canary",), count=5, declaration=declared(handlers, is_exclusive=False))
    return [job.id for _ in range(40) for job in fetch(wanted).jobs]


@spec("VER-10.2-a")
def test_a_rollback_never_replaces_rules_that_are_newer() -> None:
    before = put(50)
    with threads(2) as start:
        with transaction.atomic():
            newer = routing.put(parse_wanted(TYPE, {"rules": [{"version": "2.0", "weight": 1}]}))[0]
            late = start(partial(routing.roll_back_by, TYPE, Verdict(before.revision, SEEN)))
            wait_until_blocked()
        assert late.result() is False

    row = Routing.objects.get(type=TYPE)
    assert (row.revision, row.rolled_back_at) == (newer.revision, None)
    assert not Rollback.objects.exists()


@spec("VER-10.2-a")
def test_loops_that_roll_back_at_once_do_it_once() -> None:
    verdict = Verdict(put(50).revision, SEEN)

    done = at_once([partial(routing.roll_back_by, TYPE, verdict)] * 6)

    assert sorted(done) == [False] * 5 + [True]
    assert Rollback.objects.count() == 1
    assert Event.objects.filter(kind=Kind.VERSION_ROLLED_BACK).count() == 1


def test_puts_of_one_revision_let_one_through() -> None:
    revision = put(50).revision

    def try_put(weight: float) -> bool:
        try:
            put(weight, revision=revision)
        except Conflict:
            return False
        return True

    done = at_once([partial(try_put, n) for n in range(1, 7)])

    assert done.count(True) == 1


def test_steps_and_puts_at_once_leave_the_rules_whole() -> None:
    plan = {"steps": [5, 25, 50, 100], "bake_time": "PT1S"}
    row = put(50, plan=plan)

    works: list[Callable[[], object]] = [
        *[partial(routing.advance, TYPE, row.revision)] * 3,
        *[partial(put, 50, plan=plan)] * 2,
        partial(routing.roll_back_by, TYPE, Verdict(row.revision, SEEN)),
    ]
    at_once(works)

    found = Routing.objects.get(type=TYPE)
    revisions = [
        event.data["revision"]
        for event in Event.objects.filter(kind=Kind.ROUTING_CHANGED).order_by("seq")
        if event.data
    ]
    assert len(set(revisions)) == len(revisions)
    assert found.revision == max(revisions)
    # a PUT came last, or just before a request that was meant for the replaced rules
    assert (found.step, [one["weight"] for one in found.rules]) == (0, [5, 95])


@spec("VER-10.1-a")
def test_jobs_stored_while_rules_change_are_drawn_by_what_holds_at_last() -> None:
    put(0.5)
    works: list[Callable[[], Any]] = [partial(produce, 40) for _ in range(3)]
    works += [partial(put, weight) for weight in (10, 90)]

    done = at_once(works)

    Redrawing.objects.update(first_stage=1)
    redrawn()
    Redrawing.objects.update(starts_at=Now())
    redrawn()
    rules = rule_cache.read_one(TYPE)
    assert rules is not None
    lanes = {str(row.id): row.lane_id for row in Job.objects.all()}
    routes = dict(LaneKey.objects.values_list("id", "route"))
    for ids in done[:3]:
        for job in ids:
            assert routes[lanes[job]] == route_of(TYPE, None, rules.drawn(job))


@spec("VER-10.1-a")
def test_no_job_is_lost_or_doubled_while_it_is_drawn_anew() -> None:
    put(50)
    every = produce(60)
    put(20)

    def rollback() -> list[str]:
        routing.roll_back(TYPE)
        put(30)
        return []

    def redraw() -> list[str]:
        for _ in range(5):
            redrawn()
        return []

    works: list[Callable[[], list[str]]] = [
        partial(work, "1.0"), partial(work, "2.0"), partial(produce, 40), redraw, rollback,
    ]  # fmt: skip
    done = at_once(works)

    redrawn()
    taken = Counter([*done[0], *done[1], *work("1.0"), *work("2.0")])
    assert set(taken.values()) == {1}
    assert taken.keys() == {*every, *done[2]}


@spec("VER-10.2-a")
def test_after_a_rollback_no_claim_of_the_new_version_is_served() -> None:
    put(50)
    produce(60)

    def take() -> list[str]:
        """Fetch until the rollback is committed, and then once more."""
        handlers = [{"type": TYPE, "versions": "2.0"}]
        wanted = FetchRequest(("canary",), declaration=declared(handlers, is_exclusive=False))
        while not Rollback.objects.exists():
            fetch(wanted)
        return [job.id for job in fetch(replace(wanted, count=50)).jobs]

    def rollback() -> list[str]:
        routing.roll_back(TYPE)
        return []

    gone = at_once([take, take, rollback])

    assert gone == [[], [], []]
    assert (
        parse_version("1.0")
        == rule_cache.cache.current(configuration.version()).by_type[TYPE].lowest
    )
