"""The loop `attention`: one statement per rule, findings that open and end, events, mutes."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from attention.domain.order import Found
from attention.domain.rule import Hit, Params, Rule
from attention.models import Finding, Look, Mute, RuleChange
from attention.queries import findings
from attention.rules import RULES, installed
from attention.services import look as module
from attention.services.listing import Kept, counts, listed, show
from attention.services.look import evaluate, look
from attention.services.mute import mute, unmute
from jobs import caches
from jobs.database import atomic
from jobs.domain.access.caller import SYSTEM, Caller
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.models import Audit, Event, LoopTick, Queue
from jobs.queries import ago, tick
from jobs.services.operate.queues import pause, resume
from tests.attention.incidents import aggregated
from tests.concurrency import threads
from tests.factories import stored

pytestmark = pytest.mark.usefixtures("store", "loops_run")

HOUR = timedelta(hours=1)


@pytest.fixture
def loops_run() -> Iterator[None]:
    """Let the only loop have run."""
    LoopTick.objects.all().delete()
    tick("promote")
    yield
    LoopTick.objects.all().delete()


def paused(jobs: int = 2) -> None:
    """Make an incident: a paused queue with jobs."""
    stored(jobs, queue="mail")
    aggregated()
    pause("mail", SYSTEM)
    Queue.objects.update(paused_at=ago(600_000))


def events() -> list[tuple[int, str, str]]:
    """Return kind, rule and subject of all events about findings."""
    found = Event.objects.filter(kind__in=range(120, 125)).order_by("stamp", "seq")
    return [(one.kind, one.data["rule"], one.data["subject"]) for one in found if one.data]


def data_of(kind: int) -> dict[str, Any]:
    """Return the data of the only event of a kind."""
    return dict(Event.objects.get(kind=kind).data or {})


def test_every_statement_runs_on_an_empty_store_and_finds_nothing() -> None:
    seen = evaluate(installed(), {})

    assert [rule.id for rule in seen.failed] == []
    assert len(seen.rules) == len(RULES)
    assert seen.found == []


def test_a_look_takes_one_statement_for_each_rule_whatever_it_finds() -> None:
    def cost() -> int:
        caches.clear_all()
        with CaptureQueriesContext(connection) as captured:
            look()
        return len(captured)

    calm = cost()
    paused()
    busy = cost()

    # sample, tenants_hit, the transaction with lock and store; emit only if something changed
    assert calm == len(RULES) + 6
    assert busy == calm + 1


def test_a_finding_opens_once_and_ends_with_its_condition() -> None:
    paused()

    assert look() == 1
    assert look() == 0

    (one,) = listed(None)
    assert (one.rule.id, one.hit.subject, one.hit.jobs, one.hit.tenants) == (
        "queue_paused", "mail", 2, 1,
    )  # fmt: skip
    assert one.since == Queue.objects.get(name="mail").paused_at
    resume("mail", SYSTEM)
    assert look() == 1
    assert listed(None) == []
    assert [one.ended_at is None for one in listed(None, Kept.ENDED)] == [False]
    assert events() == [(120, "queue_paused", "mail"), (121, "queue_paused", "mail")]


def test_a_condition_that_returns_soon_opens_the_same_finding() -> None:
    paused()
    look()
    (first,) = listed(None)
    resume("mail", SYSTEM)
    look()
    pause("mail", SYSTEM)
    Queue.objects.update(paused_at=ago(120_000))

    look()

    (again,) = listed(None)
    assert (again.id, again.since > first.since) == (first.id, True)
    resume("mail", SYSTEM)
    look()
    Finding.objects.update(ended_at=ago(600_000))
    pause("mail", SYSTEM)
    Queue.objects.update(paused_at=ago(120_000))
    look()
    assert {one.id for one in listed(None)} != {first.id}


def test_findings_change_in_place_and_are_forgotten_after_a_week() -> None:
    paused()
    look()
    stored(5, queue="mail")
    aggregated()
    assert look() == 0
    assert listed(None)[0].hit.jobs == 7

    Finding.objects.update(ended_at=ago(8 * 86_400_000))
    resume("mail", SYSTEM)
    look()

    assert not Finding.objects.exists()


def test_a_start_that_no_statement_derives_is_the_first_look() -> None:
    hit = Hit("q", None, None, 1, 1, {})
    rows = module._rows([Found(installed()[0], hit)])
    findings.store(rows, evaluated=[], rules=[rows[0]["rule"]], failed=[])
    Finding.objects.update(since=F("since") - HOUR)
    before = Finding.objects.get().since

    findings.store(rows, evaluated=[], rules=[rows[0]["rule"]], failed=[])

    assert Finding.objects.get().since == before


def test_a_statement_that_fails_keeps_its_findings_and_hides_no_others(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    paused()
    look()

    def broken(_: object) -> list[Hit]:
        raise DatabaseError("the disk is full")

    rules = [rule if rule.id != "queue_paused" else _with(rule, broken) for rule in installed()]
    monkeypatch.setattr(module, "installed", lambda: tuple(rules))
    look()

    assert [one.hit.subject for one in listed(None)] == ["mail"]
    assert Look.objects.get().failed == ["queue_paused"]
    assert "attention.rule_failed" in caplog.messages


def _with(rule: Rule, find: Callable[[Params], list[Hit]]) -> Rule:
    return replace(rule, find=find)


def test_a_rule_that_is_switched_off_ends_its_findings() -> None:
    paused()
    look()
    RuleChange.objects.create(rule="queue_paused", is_enabled=False)

    look()

    assert listed(None) == []


def test_a_finding_hides_those_that_it_explains() -> None:
    paused()
    aggregated()
    look()

    assert [one.rule.id for one in listed(None)] == ["queue_paused"]


def test_two_looks_at_once_store_only_once() -> None:
    paused()

    with atomic():
        assert findings.stores_alone()
        with threads(1) as run:
            assert run(look).result() == 0

    assert look() == 1


# --- mutes ----------------------------------------------------------------------------------------


def test_a_muted_finding_is_listed_apart_and_sends_no_event_until_the_time_is_over() -> None:
    paused()
    look()
    (one,) = listed(None)

    shown = mute(one.id, "known, ticket 7", HOUR, Caller("ada"))

    assert shown.mute is not None
    assert (shown.mute.reason, shown.mute.actor) == ("known, ticket 7", "ada")
    assert (listed(None), counts()) == ([], {})
    assert [muted.id for muted in listed(None, Kept.MUTED)] == [one.id]
    resume("mail", SYSTEM)
    look()
    assert events() == [(120, "queue_paused", "mail"), (123, "queue_paused", "mail")]
    entry = Audit.objects.get(action="attention.muted")
    assert (entry.target, entry.reason) == ("queue_paused:mail", "known, ticket 7")


def test_an_unmuted_finding_is_listed_again() -> None:
    paused()
    look()
    (one,) = listed(None)
    mute(one.id, "known", HOUR, SYSTEM)

    assert unmute(one.id, SYSTEM).mute is None

    assert counts() == {("queue_paused", 2): 1}
    assert Audit.objects.filter(action="attention.unmuted").count() == 1
    unmute(one.id, SYSTEM)
    assert Audit.objects.filter(action="attention.unmuted").count() == 1


def test_each_change_of_the_list_has_an_event() -> None:
    paused()
    look()
    (one,) = listed(None)
    mute(one.id, "known", HOUR, Caller("ada"))
    until = data_of(123)["muted_until"]
    unmute(one.id, SYSTEM)
    unmute(one.id, SYSTEM)
    Finding.objects.update(severity=1)

    assert look() == 1

    kinds = [kind for kind, _, _ in events()]
    assert kinds == [120, 123, 124, 122]
    assert until.endswith("Z")
    assert data_of(122)["severity"] == "warning"
    assert look() == 0


@pytest.mark.parametrize("more", [0, 1])
def test_a_finding_whose_mute_is_over_is_announced_again_once(more: int) -> None:
    paused()
    look()
    mute(listed(None)[0].id, "known", HOUR, SYSTEM)
    Mute.objects.update(until=ago(1))
    if more:  # the finding changes in the same look
        stored(more, queue="mail")
        aggregated()

    assert look() == 1

    assert [kind for kind, _, _ in events()] == [120, 123, 124]
    assert data_of(124)["jobs"] == 2 + more
    assert look() == 0


def test_a_mute_that_ends_with_its_finding_announces_nothing() -> None:
    paused()
    look()
    mute(listed(None)[0].id, "known", HOUR, SYSTEM)
    resume("mail", SYSTEM)
    look()
    Mute.objects.update(until=ago(1))

    assert look() == 0

    assert [kind for kind, _, _ in events()] == [120, 123]
    assert not Mute.objects.exists()


@pytest.mark.parametrize(
    ("reason", "duration"),
    [("", HOUR), ("x" * 1001, HOUR), ("x", timedelta()), ("x", timedelta(days=91))],
)
def test_a_mute_needs_a_reason_and_a_bounded_time(reason: str, duration: timedelta) -> None:
    paused()
    look()

    with pytest.raises(InvalidRequest):
        mute(listed(None)[0].id, reason, duration, SYSTEM)


# --- tenants, and a stopped loop ------------------------------------------------------------------


def test_callers_of_a_tenant_see_only_its_findings_and_the_servers() -> None:
    paused()
    look()
    (one,) = listed(None)
    Finding.objects.create(
        id="01890000-0000-7000-8000-000000000001", rule="tenant_suspended", subject="acme",
        tenant="acme", severity=2, since=ago(0), jobs=3, tenants=1,
        facts={"actor": "ada", "reason": "unpaid"},
    )  # fmt: skip

    assert [found.hit.subject for found in listed("acme")] == ["acme"]
    assert listed("other") == []
    assert "unpaid" in show("01890000-0000-7000-8000-000000000001", None).cause
    assert "unpaid" not in listed("acme")[0].cause
    with pytest.raises(NotFound):
        show(one.id, "acme")


def test_stopped_loops_are_listed_though_no_loop_stores_them() -> None:
    look()
    assert listed(None) == []
    Look.objects.update(at=ago(60_000))
    LoopTick.objects.update(ticked_at=ago(60_000))

    assert [(one.rule.id, one.id) for one in listed("acme")] == [("loop_stuck", "")]
    assert counts() == {("loop_stuck", 3): 1}
