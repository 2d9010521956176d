"""Kill each loop before each of its steps, and while one of its statements runs.

A dead process leaves its commits, a transaction that PostgreSQL rolls back, or a statement that
PostgreSQL finishes without a client. After each of these, another process must continue the work.
"""

import importlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Sum
from django.db.models.functions import Now

from jobs import queries
from jobs.domain.access.caller import Caller
from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.outcome.bulk import Verb
from jobs.domain.record.events import Kind
from jobs.domain.states import CODES, State
from jobs.loops import all_loops
from jobs.models import (
    Audit,
    BulkAnswer,
    Depth,
    Event,
    Finished,
    Job,
    Lane,
    Lease,
    Period,
    Progress,
    Queue,
    QueueSize,
    Ready,
    Replay,
    ReplayRule,
    TenantDepth,
    Total,
    Undo,
    Worker,
)
from jobs.queries import ago
from jobs.services.audit import undo_log
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.operate import bulk
from jobs.services.operate.queue_removal import purge
from jobs.services.outcome.ack import Ack, ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.outcome.progress import Progress as Reported
from jobs.services.outcome.progress import report
from jobs.services.workers.heartbeat import Report, heartbeat
from scheduling.domain.pool_request import parse_pool
from scheduling.models import CronTurn, Overload, QueueWatch
from scheduling.services.cron_fire import fire
from scheduling.services.pools import put
from tenancy.domain.tenant import Definition
from tenancy.models import Throttle
from tenancy.services.tenants import put as put_tenant
from tests.asserts import assert_state, assert_store_is_sound, recount, state
from tests.concurrency import wait_until_blocked, wait_until_complete
from tests.conftest import ROOT
from tests.crash.victim import NAME
from tests.factories import DraftFactory, error, stored, stored_ids
from tests.processes import DEADLINE_S, until
from tests.scheduling.conftest import make_due, registered
from tests.spec import spec
from tests.webhooks.conftest import Receiver, Subscribe, configure, empty, receiver, subscribe
from tests.workflows import plug
from tests.workflows.flows import chain, claimed, complete, created, group, job, run, seen
from webhooks.models import Attempt, Delivery, Status, Subscription
from workflows.models import Slot, Step, Workflow

__all__ = ["configure", "empty", "receiver", "subscribe"]
pytestmark = [pytest.mark.usefixtures("store"), pytest.mark.xdist_group("crash")]

OLD_MS = 400_000_000  # longer ago than any loop waits
SILENT_MS = 3_600_000  # a worker is dead, but its row is still kept
HERE = "test_each_loop_kill"

# the test that kills each loop; NEEDS_NONE has the reasons why a kill cannot break the other loops
PROVEN = {
    "promote": "test_loops_kill.test_every_due_job_is_promoted_once",
    "expire": "test_loops_kill.test_every_expired_job_is_discarded_once",
    "retention": "test_loops_kill.test_every_job_that_outlived_its_retention_is_removed_once",
    "cron": "test_cron_kill.test_no_occurrence_is_lost_or_doubled_when_loops_are_killed",
    "reap": f"{HERE}.test_every_lost_attempt_is_ended_once",
    "reap_dead_workers": f"{HERE}.test_the_jobs_of_dead_workers_come_back_once",
    "fold": f"{HERE}.test_every_event_is_counted_once",
    "log": f"{HERE}.test_every_event_is_logged_at_least_once",
    "heal": f"{HERE}.test_lanes_are_offered_again",
    "reconcile": f"{HERE}.test_every_drift_is_taken_out_once",
    "drain": f"{HERE}.test_a_draining_queue_goes_with_its_last_job",
    "replay": f"{HERE}.test_every_dead_job_is_replayed_once_by_one_rule",
    "stall": f"{HERE}.test_every_stalled_job_is_told_once",
    "forget_answers": f"{HERE}.test_old_answers_go_and_young_ones_stay",
    "undo": f"{HERE}.test_every_job_of_an_undo_is_restored_once",
    "cron_turns": f"{HERE}.test_turns_are_passed_on_to_one_run_each",
    "watch": f"{HERE}.test_what_starves_and_is_overloaded_is_told_once",
    "charge": f"{HERE}.test_every_attempt_is_charged_once",
    "webhooks_relay": f"{HERE}.test_every_event_is_delivered_and_logged_right",
    "webhooks_send": f"{HERE}.test_every_event_is_delivered_and_logged_right",
    "webhooks_forget": f"{HERE}.test_old_deliveries_go_with_their_attempts",
    "noise": f"{HERE}.test_every_throttle_begins_and_ends_once",
    "throttles": f"{HERE}.test_every_throttle_begins_and_ends_once",
    "workflows": f"{HERE}.test_every_step_that_waited_begins_once",
    "prune_workflows": f"{HERE}.test_workflows_go_whole",
}
NEEDS_NONE = {
    "isolation": "one transaction: tenants whose lanes it did not move are found again",
    "shares": "one transaction: what is still shared wrongly is found again",
    "forget_undos": "one statement: what it did not forget, the next one does",
    "pressure": "one statement: notes the crossing and tells it, or neither",
    "held_versions": "one transaction: notes what is held and tells it, or neither",
    "canaries": "one transaction counts and moves its position, another changes the rules; what was"
    " not done is found again",
    "redraw": "one statement moves jobs; where it stands is noted after it, and whoever looks again"
    " finds them in place",
    "turns": "one statement: what it did not forget, the next one does",
    "federation_probe": "one transaction for each answer: whoever was not heard is asked again",
    "federation_load": "one statement for each answer: whoever was not heard is asked again",
    "federation_replicate": "one transaction for what happened, one for each answer: what was not"
    " heard is sent again, and peers ignore it",
    "federation_doubts": "one transaction for each answer: who was not heard is asked again, and"
    " says the same",
    "federation_lag": "one statement, which the next turn does again",
    "federation_forget": "one statement for keys and one for copies: the next one does the rest",
    "attention": "one transaction stores the findings and tells them, or neither",
    "durable_sweep": "one statement for each batch: what it did not delete, the next round finds",
    "statistics": "runs ANALYZE alone, and looks anew at what is outgrown each time",
}


def test_every_loop_has_a_test_that_kills_it() -> None:
    known = {**PROVEN, **NEEDS_NONE}

    assert known.keys() == {loop.name for loop in all_loops()}
    for place in PROVEN.values():
        module, _, name = place.partition(".")
        assert callable(getattr(importlib.import_module(f"tests.crash.{module}"), name))


class Victim:
    """A process that runs loops in children, which kill themselves."""

    def __init__(self, url: str, log: Path | None = None) -> None:
        """Start it on this database; the log lines of jobs go to a file, or are turned off."""
        self._log = log.open("wb") if log else None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.victim"],
            cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._log,
            env={
                **os.environ, "DATABASE_URL": url, "OJS_LOG_LEVEL": "INFO" if log else "CRITICAL",
                "OJS_LOG_FORMAT": "json",
                "DJANGO_SETTINGS_MODULE": os.environ["DJANGO_SETTINGS_MODULE"],
                "OJS_WEBHOOK_ALLOW_HTTP": "true", "OJS_WEBHOOK_ALLOW_PRIVATE": "true",
                "OJS_TENANCY_AUTO_THROTTLE": "weight",
            },
        )  # fmt: skip

    def _say(self, loops: tuple[str, ...], dies_at: int | None) -> int:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"loops": loops, "dies_at": dies_at}) + "\n")
        self._process.stdin.flush()
        child = self._heard()
        assert child > 1  # a smaller number names init or a process group
        return child

    def _heard(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())

    def lives(self, *loops: str, dies_at: int | None = None) -> bool:
        """Run loops until they find no work; return False if the child died before."""
        self._say(loops, dies_at)
        code = self._heard()
        wait_until_gone()
        assert code in {0, -signal.SIGKILL}
        return code == 0

    def killed_at_each_step(
        self, *loops: str, meanwhile: Callable[[], object] = lambda: None
    ) -> int:
        """Kill loops before their first step, their second, …; return the number of kills."""
        for step in count(1):
            if self.lives(*loops, dies_at=step):
                return step - 1
            meanwhile()
        raise AssertionError

    def killed_while_blocked(self, *loops: str) -> None:
        """Kill loops whose statement waits for a lock that the caller holds."""
        child = self._say(loops, None)
        try:
            wait_until_blocked()
        finally:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            code = self._heard()
        assert code == -signal.SIGKILL

    def end(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(DEADLINE_S)
        self._process.stdout.close()
        if self._log:
            self._log.close()


def wait_until_gone() -> None:
    """Wait until PostgreSQL has ended the sessions of dead processes, with their locks."""

    def is_gone() -> bool:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity"
                " WHERE datname = current_database() AND application_name = %s",
                [NAME],
            )
            return not cursor.fetchone()[0]

    until(is_gone, "the end of the sessions")


@pytest.fixture(scope="module")
def victim(database_url: str) -> Iterator[Victim]:
    """Return a process whose children kill themselves."""
    made = Victim(database_url)
    yield made
    made.end()


def count_events(kind: Kind) -> Counter[str]:
    """Count the events of a kind by job."""
    return Counter(map(str, Event.objects.filter(kind=kind).values_list("job_id", flat=True)))


def once(ids: list[str]) -> Counter[str]:
    """Return a count of one for each of these ids."""
    return Counter(ids)


def active(number: int, worker_id: str | None = None, **members: Any) -> list[str]:
    """Store jobs and claim them; return the ids of the active jobs."""
    queue = f"q{worker_id or ''}{members.get('type', '')}"
    ids = stored_ids(number, queue=queue, **members)
    assert len(fetch(FetchRequest((queue,), count=number, worker_id=worker_id)).jobs) == number
    return ids


def errors_of(ids: list[str]) -> set[int]:
    """Return the set of the numbers of errors that these jobs have."""
    return {
        len(errors or ())
        for errors in Job.objects.filter(id__in=ids).values_list("errors", flat=True)
    }


@spec("contract 9.3")
def test_every_lost_attempt_is_ended_once(victim: Victim) -> None:
    lost = active(20, type="lost")
    spent = active(20, type="spent", retry={"max_attempts": 1})
    late = active(20, type="late", timeout=1)
    Lease.objects.filter(id__in=late).update(timeout_at=ago(1000))
    Lease.objects.exclude(id__in=late).update(lease_until=ago(1000))

    assert victim.killed_at_each_step("reap") >= 3

    assert_state(State.AVAILABLE, *lost)
    assert_state(State.DISCARDED, *spent)
    assert_state(State.RETRYABLE, *late)
    assert errors_of([*lost, *spent, *late]) == {1}
    assert_store_is_sound()


def test_every_job_of_an_undo_is_restored_once(victim: Victim) -> None:
    waiting = stored_ids(250, queue="mail")
    ended = active(30, type="ended")
    ack([Ack(job_id) for job_id in ended])
    who = Caller("ann")
    operation = undo_log.begin(who, "queue.purged", "mail")
    with queries.keeping(operation):
        purge("mail", [State.AVAILABLE], "ann")
        bulk.act_on(Verb.DELETE, ended, "ann")
    assert not Job.objects.exists()
    Undo.objects.update(state="undoing", undone_by="ann")

    assert victim.killed_at_each_step("undo") >= 10

    assert_state(State.AVAILABLE, *waiting)
    assert_state(State.COMPLETED, *ended)
    found = Undo.objects.get()
    assert (found.state, found.restored, found.left_out) == ("undone", 280, 0)
    assert Audit.objects.filter(action="operation.undone").count() == 1
    assert count_events(Kind.RESTORED) == once(ended) + once(waiting) + once(waiting)
    assert_store_is_sound()


@spec("contract 9.4")
def test_the_jobs_of_dead_workers_come_back_once(victim: Victim) -> None:
    names = [f"w{n}" for n in range(3)]
    for name in (*names, "gone", "alive"):
        heartbeat(Report(name))
    ids = [job_id for name in names for job_id in active(5, name)]
    kept = active(5, "alive")
    Worker.objects.filter(id__in=names).update(last_heartbeat_at=ago(SILENT_MS))
    Lease.objects.filter(worker_id__in=names).update(started_at=ago(SILENT_MS))
    Worker.objects.filter(id="gone").update(last_heartbeat_at=ago(OLD_MS), stopped_at=ago(OLD_MS))

    assert victim.killed_at_each_step("reap_dead_workers") >= 3

    assert_state(State.AVAILABLE, *ids)
    assert_state(State.ACTIVE, *kept)
    assert errors_of(ids) == {1}
    assert set(Worker.objects.filter(dead_at__isnull=False).values_list("id", flat=True)) == {
        *names
    }
    stopped = Event.objects.filter(kind=Kind.WORKER_STOPPED)
    assert Counter(stopped.values_list("worker_id", flat=True)) == Counter(names)
    assert not Worker.objects.filter(id="gone").exists()
    assert_store_is_sound()


@spec("contract 12.3")
def test_every_event_is_counted_once(victim: Victim) -> None:
    victim.lives("fold")  # the first run only stores its start position
    done = stored_ids(30)
    wait_until_complete()
    victim.lives("fold")
    fetch(FetchRequest(("default",), count=30))
    ack([Ack(job_id) for job_id in done])
    stored(20, queue="other")
    wait_until_complete()

    with transaction.atomic():
        list(Depth.objects.select_for_update())
        victim.killed_while_blocked("fold")
    victim.killed_at_each_step("fold")

    stored(5)
    wait_until_complete()
    assert victim.killed_at_each_step("fold") >= 1
    counted = {(one.queue, one.state): one.jobs for one in Depth.objects.exclude(jobs=0)}
    assert counted == {(queue, CODES[state]): jobs for (queue, state), jobs in recount().items()}
    totals = Total.objects.values_list("queue", "enqueued", "started", "completed")
    assert sorted(totals) == [("default", 35, 30, 30), ("other", 20, 0, 0)]
    spans = Period.objects.values("span_s").annotate(stored=Sum("enqueued"), ended=Sum("completed"))
    assert {(one["stored"], one["ended"]) for one in spans} == {(55, 30)}
    assert {one["span_s"] for one in spans} == {60, 3600, 86400}


@spec("contract 32.5")
def test_every_event_is_logged_at_least_once(database_url: str, tmp_path: Path) -> None:
    victim = Victim(database_url, log := tmp_path / "lines")
    try:
        victim.lives("log")  # the first run only stores its start position
        ids = stored_ids(3)
        wait_until_complete()
        assert victim.killed_at_each_step("log", meanwhile=wait_until_complete) >= 3
        later = stored_ids(2)
        wait_until_complete()
        victim.lives("log")
    finally:
        victim.end()

    told = Counter(json.loads(line)["ojs.job_id"] for line in log.read_text().splitlines())
    assert told.keys() == {*ids, *later}
    assert max(told[job_id] for job_id in ids) > 1  # killed before it stored its position
    assert {told[job_id] for job_id in later} == {1}


@spec("contract 12.3")
def test_every_drift_is_taken_out_once(victim: Victim) -> None:
    stored(5)
    active(4, "w")
    QueueSize.objects.create(queue="default", bytes=70)
    Depth.objects.create(queue="default", state=CODES[State.AVAILABLE], jobs=3)
    TenantDepth.objects.create(tenant="t", queue="qw", state=CODES[State.ACTIVE], jobs=-2)
    drifted = [*queries.drifts(), *queries.size_drifts(None)]
    assert [drift.excess for drift in drifted] == [3, -2, 70]

    with transaction.atomic():
        list(Depth.objects.select_for_update())
        victim.killed_while_blocked("reconcile")
    assert victim.killed_at_each_step("reconcile") >= 5

    assert dict(QueueSize.objects.values_list("queue", "bytes")) == {"default": 0}
    assert list(Depth.objects.values_list("jobs", flat=True)) == [0]
    assert list(TenantDepth.objects.values_list("jobs", flat=True)) == [0]
    assert_store_is_sound()


def test_lanes_are_offered_again(victim: Victim) -> None:
    for queue in ("a", "b", "c"):
        stored(2, queue=queue)
    Lane.objects.update(active=False)

    with transaction.atomic():
        list(Lane.objects.select_for_update().filter(queue="c"))
        victim.killed_while_blocked("heal", "heal")
    victim.killed_at_each_step("heal", "heal")

    assert not Lane.objects.filter(active=False).exists()
    assert len(fetch(FetchRequest(("a", "b", "c"), count=10)).jobs) == 6


@spec("contract 10.2")
def test_a_draining_queue_goes_with_its_last_job(victim: Victim) -> None:
    waiting = stored_ids(1200, queue="old") + stored_ids(3, queue="old", scheduled_at="+PT1H")
    kept = stored_ids(2, queue="new")
    Queue.objects.filter(name="old").update(draining=True)

    assert victim.killed_at_each_step("drain") >= 8

    assert set(Queue.objects.values_list("name", flat=True)) == {"new"}
    assert count_events(Kind.CANCELLED) == once(waiting)
    assert_state(State.AVAILABLE, *kept)
    assert_store_is_sound()


@spec("contract 28.4")
def test_every_dead_job_is_replayed_once_by_one_rule(victim: Victim) -> None:
    ids = []
    for kind in ("mail.a", "mail.b", "sum.c"):
        ids += active(20, type=kind, retry={"max_attempts": 1, "on_exhaustion": "dead_letter"})
    nack([Nack(job_id, error()) for job_id in ids])
    for n, (name, matched) in enumerate((("a", "mail.a"), ("mail", "mail.*"), ("all", None))):
        ReplayRule.objects.create(name=name, position=n, type=matched, delay_ms=0, max_replays=1)

    assert victim.killed_at_each_step("replay") >= 5

    assert_state(State.AVAILABLE, *ids)
    assert count_events(Kind.ENQUEUED) == once(ids * 2)  # at the first enqueue, and at the replay
    replays = Counter(Replay.objects.values_list("rule", "replays"))
    assert replays == {("a", 1): 20, ("mail", 1): 20, ("all", 1): 20}
    assert errors_of(ids) == {1}
    assert_store_is_sound()


@spec("contract 29")
def test_every_stalled_job_is_told_once(victim: Victim) -> None:
    quiet = active(10, type="quiet")
    loud = active(3, type="loud")
    for job_id in (*quiet, *loud):
        report(job_id, Reported(0.5))
    Progress.objects.filter(job_id__in=quiet).update(updated_at=ago(OLD_MS), told_at=ago(OLD_MS))

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("LOCK TABLE ojs_event IN SHARE MODE")
        victim.killed_while_blocked("stall")
    victim.killed_at_each_step("stall")

    assert count_events(Kind.PROGRESS_STALLED) == once(quiet)
    assert queries.stalled(100) == {("qquiet", "_default"): 10}
    assert_state(State.ACTIVE, *quiet, *loud)


@spec("contract 11.2")
def test_old_answers_go_and_young_ones_stay(victim: Victim) -> None:
    for n in range(20):
        BulkAnswer.objects.create(
            operation="enqueue", tenant="", key=f"k{n:02}", request_hash=b"x", status=200,
            answer=b"{}",
        )  # fmt: skip
    BulkAnswer.objects.filter(key__lt="k15").update(created_at=ago(OLD_MS))

    with transaction.atomic():
        list(BulkAnswer.objects.select_for_update().filter(key="k07"))
        victim.killed_while_blocked("forget_answers")
    victim.killed_at_each_step("forget_answers")

    left = list(BulkAnswer.objects.order_by("key").values_list("key", flat=True))
    assert left == [f"k{n}" for n in range(15, 20)]


@spec("contract 7.4")
def test_turns_are_passed_on_to_one_run_each(victim: Victim) -> None:
    names = ["n1", "n2", "n3"]
    for name in names:
        registered(name, overlap_policy="enqueue")
    for _ in range(3):
        make_due(*names)
        fire()
    for holder in CronTurn.objects.values_list("holder", flat=True):
        queries.cancel([str(holder)], "test", None, watched=True)  # no hook passes the slot on

    assert victim.killed_at_each_step("cron_turns") >= 6

    turns = list(CronTurn.objects.all())
    assert len(turns) == len(names)
    for turn in turns:
        assert state(str(turn.holder)) is State.AVAILABLE
        assert [state(str(one)) for one in turn.waiting] == [State.PENDING]
    assert_store_is_sound()


@spec("FS-11.1-a")
def test_what_starves_and_is_overloaded_is_told_once(victim: Victim) -> None:
    put(parse_pool("p", {"queues": ["a", "b", "c"], "concurrency": 1}))
    for queue in ("a", "b"):
        stored_ids(3, queue=queue)
    assert len(fetch(FetchRequest((), count=2, pool="p")).jobs) == 1
    assert victim.killed_at_each_step("watch") >= 6  # the first commit has p's event
    Overload.objects.update(told_at=ago(OLD_MS))
    QueueWatch.objects.update(since=ago(OLD_MS))
    Event.objects.filter(kind=Kind.STARTED).update(at=ago(OLD_MS))

    assert victim.killed_at_each_step("watch") >= 6

    starved = Event.objects.filter(kind=Kind.QUEUE_STARVED).order_by("queue")
    assert list(starved.values_list("queue", flat=True)) == ["a", "b"]
    assert Event.objects.filter(kind=Kind.POOL_OVERLOADED).count() == 2


@spec("MT-9.2")
def test_every_throttle_begins_and_ends_once(victim: Victim) -> None:
    victim.lives("fold")  # the first run only stores its start position
    for name, number in {"a": 400, "b": 400, "c": 1, "d": 1}.items():
        put_tenant(name, Definition(weight=10))
        stored(number, meta={"tenant_id": name})
    wait_until_complete()
    victim.lives("fold")

    assert victim.killed_at_each_step("noise") >= 20

    begun = Event.objects.filter(kind=Kind.TENANT_THROTTLED).values_list("tenant", flat=True)
    assert sorted(map(str, begun)) == ["a", "b"]
    assert dict(Lane.objects.values_list("tenant", "weight")) == {"a": 2, "b": 2, "c": 10, "d": 10}
    Throttle.objects.update(until=ago(OLD_MS))
    assert victim.killed_at_each_step("throttles") >= 15
    ended = Event.objects.filter(kind=Kind.TENANT_THROTTLE_RELEASED)
    assert sorted(map(str, ended.values_list("tenant", flat=True))) == ["a", "b"]
    assert set(Lane.objects.values_list("weight", flat=True)) == {10}
    assert Audit.objects.filter(action="tenant.throttle_released").count() == 2


@spec("contract 20.4")
def test_every_attempt_is_charged_once(victim: Victim) -> None:
    put(parse_pool("p", {"queues": ["q"], "tenant_fairness": {"cost": "duration"}}))
    victim.lives("charge")  # the first run only stores its start position
    tenants = {"a": 1000, "b": 3000}
    enqueue(
        [replace(DraftFactory.create(queue="q"), tenant=name) for name in tenants for _ in "12345"]
    )
    jobs = fetch(FetchRequest((), count=10, pool="p")).jobs
    ack([Ack(job.id) for job in jobs])
    wait_until_complete()
    for name, took_ms in tenants.items():
        Event.objects.filter(kind=Kind.COMPLETED, tenant=name).update(took_ms=took_ms)
    before = dict(Lane.objects.values_list("tenant", "vt"))

    assert victim.killed_at_each_step("charge") >= 2

    after = dict(Lane.objects.values_list("tenant", "vt"))
    assert after["a"] - before["a"] == pytest.approx(5 * (1000.5 / 2000.5 - 1))
    assert after["b"] - before["b"] == pytest.approx(5 * (3000.5 / 2000.5 - 1))


@spec("contract 26")
def test_every_event_is_delivered_and_logged_right(
    victim: Victim, receiver: Receiver, subscribe: Subscribe
) -> None:
    subscriptions = [subscribe("job.enqueued") for _ in range(2)]
    ids = stored_ids(3)
    wait_until_complete()

    def lose_what_was_under_way() -> None:
        open_ones = Delivery.objects.filter(status__in=[Status.PENDING, Status.FAILED])
        open_ones.update(next_attempt_at=Now())

    loops = ("webhooks_relay", "webhooks_send")
    assert victim.killed_at_each_step(*loops, meanwhile=lose_what_was_under_way) >= 10

    deliveries = list(Delivery.objects.all())
    about = Counter(
        (one.subscription_id, json.loads(bytes(one.body))["data"]["job_id"]) for one in deliveries
    )
    assert about == Counter((one.id, job_id) for one in subscriptions for job_id in ids)
    assert {one.status for one in deliveries} == {Status.DELIVERED}
    received = Counter(headers["X-OJS-Delivery-ID"] for _, headers, _ in receiver.requests)
    assert received.keys() == {one.id for one in deliveries}
    for one in deliveries:
        # an interrupted attempt has no entry, and its number is not used again
        (attempt,) = Attempt.objects.filter(delivery_id=one.id)
        assert (attempt.number, attempt.status_code) == (one.attempts, 200)
        assert 1 <= received[one.id] <= one.attempts
    assert set(Subscription.objects.values_list("success_count", "failure_count")) == {(3, 0)}
    delivered = Event.objects.filter(kind=Kind.WEBHOOK_DELIVERED).values_list("data", flat=True)
    assert Counter(data["delivery_id"] for data in delivered if data) == once(list(received))


@spec("contract 26")
def test_old_deliveries_go_with_their_attempts(victim: Victim, subscribe: Subscribe) -> None:
    subscribe("job.enqueued")
    stored(6)
    wait_until_complete()
    victim.lives("webhooks_relay", "webhooks_send")
    young = list(Delivery.objects.order_by("id").values_list("id", flat=True)[:2])
    Delivery.objects.exclude(id__in=young).update(ended_at=ago(10 * OLD_MS))

    with transaction.atomic():
        list(Attempt.objects.select_for_update().exclude(delivery_id__in=young)[:1])
        victim.killed_while_blocked("webhooks_forget")
    victim.killed_at_each_step("webhooks_forget")

    assert sorted(Delivery.objects.values_list("id", flat=True)) == young
    assert sorted(Attempt.objects.values_list("delivery_id", flat=True)) == young


@spec("contract 8.2")
def test_every_step_that_waited_begins_once(victim: Victim, settings: Any) -> None:
    flows = [created(chain(job("a"), job("b"))) for _ in range(4)]
    settings.OJS = {**settings.OJS, "ENQUEUE_MIDDLEWARE": ("tests.workflows.plug.plug",)}
    plug.HELD.add("b")
    complete(*claimed())
    plug.HELD.clear()
    assert not Ready.objects.exists()
    Step.objects.exclude(due_at=None).update(due_at=ago(1))

    assert victim.killed_at_each_step("workflows") >= 8

    assert Counter(Job.objects.values_list("type", flat=True)) == {"a": 4, "b": 4}
    assert run() == ["b"] * 4
    assert {seen(flow)["state"] for flow in flows} == {"completed"}
    assert_store_is_sound()


@spec("contract 10.6")
def test_workflows_go_whole(victim: Victim) -> None:
    gone = [created(group(job(), chain(job()))) for _ in range(3)]
    run()
    Finished.objects.all().delete()
    Job.objects.all().delete()
    kept = created(chain(job()))
    run()
    Workflow.objects.exclude(prune_at=None).update(prune_at=ago(1))

    with transaction.atomic():
        list(Step.objects.select_for_update().filter(workflow_id=gone[1]))
        victim.killed_while_blocked("prune_workflows")
    victim.killed_at_each_step("prune_workflows")

    assert [str(one) for one in Workflow.objects.values_list("id", flat=True)] == [kept]
    assert {str(one) for one in Step.objects.values_list("workflow_id", flat=True)} == {kept}
    assert not Slot.objects.exclude(workflow_id=kept).exists()
