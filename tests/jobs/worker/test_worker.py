"""`runworker` with jobs, signals, crashes and handlers that never end."""

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import orjson
import pytest
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from jobs.domain.envelope import parse_job
from jobs.domain.job import Job
from jobs.domain.states import State, state_of
from jobs.domain.wire.ids import new_id
from jobs.models import Event, Progress, Worker
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.cancel import cancel
from jobs.services.read.show import show
from jobs.services.workers.workers import direct
from ojs_tasks import Handler, JobHandle
from ojs_tasks.worker.lanes import SHARED
from tenancy.domain.tenant import Definition
from tenancy.services.tenants import put
from tests.jobs.worker import ojs_jobs as handlers
from tests.jobs.worker.conftest import Meeting, Spawn, wait_for
from tests.processes import DEADLINE_S, until
from tests.spec import spec

Start = Callable[..., "object"]
both_kinds = pytest.mark.parametrize(
    "handler",
    [
        pytest.param(handlers.meet, id="function"),
        pytest.param(handlers.meet_async, id="coroutine", marks=pytest.mark.long),
    ],
)


def stored(job: JobHandle[object] | None) -> str:
    """Return the id of a job that was not dropped."""
    assert job is not None
    return job.id


def errors(job: Job) -> list[dict[str, object]]:
    """Return the error history."""
    found: list[dict[str, object]] = orjson.loads(job.errors or "[]")
    return found


def test_handlers_complete_jobs_with_their_results(worker: Spawn) -> None:
    job_id = stored(handlers.echo.enqueue({"a": [1, None, "ü"]}))
    worker("--concurrency", "2")
    job = wait_for(job_id, State.COMPLETED)
    assert orjson.loads(job.result or "") == {"a": [1, None, "ü"]}


@pytest.mark.long
def test_the_context_reports_progress_and_sets_the_result(worker: Spawn) -> None:
    job_id = stored(handlers.report.enqueue())
    worker("--once")
    job = wait_for(job_id, State.COMPLETED)
    assert orjson.loads(job.result or "") == {"cancelled": False}
    shown = Progress.objects.get(job_id=job_id)
    assert (shown.progress, shown.message, shown.data) == (0.5, "half", {"rows": 10})


@pytest.mark.long
def test_once_ends_when_nothing_is_available(worker: Spawn) -> None:
    ids = [stored(handlers.echo.enqueue(n)) for n in range(50)]
    process = worker("--once", "--processes", "2")
    assert process.wait(DEADLINE_S) == 0
    assert {state_of(show(job_id).state) for job_id in ids} == {State.COMPLETED}


def test_a_failing_handler_leaves_its_error_and_goes_to_the_dead_letter(worker: Spawn) -> None:
    job_id = stored(handlers.broken.enqueue(0))
    worker()
    job = wait_for(job_id, State.DISCARDED)
    assert job.dead_letter is True
    error = errors(job)[0]
    assert error["type"] == "ZeroDivisionError"
    assert "ojs_jobs.py" in str(error["backtrace"])


@pytest.mark.long
def test_a_job_without_handler_fails_and_says_so(worker: Spawn) -> None:
    chosen = handlers.echo.options(retry={"max_attempts": 1})
    chosen.type = "tests.unknown"
    job_id = stored(chosen.enqueue(1))
    worker()
    job = wait_for(job_id, State.DISCARDED)
    assert errors(job)[0]["code"] == "handler_not_found"


@pytest.mark.long
def test_enqueue_joins_the_transaction_of_the_caller(worker: Spawn, meeting: Meeting) -> None:
    worker()
    with transaction.atomic():
        lost = stored(handlers.meet.enqueue(meeting.address))
        transaction.set_rollback(True)
    with transaction.atomic():
        kept = stored(handlers.meet.enqueue(meeting.address))
    guest = meeting.next()
    guest.let_go()
    wait_for(kept, State.COMPLETED)
    assert not Event.objects.filter(job_id=lost).exists()


@spec("GS-17")
@both_kinds
def test_a_killed_worker_loses_its_job_once_and_another_finishes_it(
    worker: Spawn, meeting: Meeting, handler: Handler[[str], str]
) -> None:
    job_id = stored(handler.enqueue(meeting.address))
    worker()
    first = meeting.next()
    os.kill(first.pid, signal.SIGKILL)
    until(lambda: is_dead_after_silence(first.pid))
    second = meeting.next()
    assert (first.attempt, second.attempt) == (1, 2)
    assert second.pid != first.pid
    second.let_go("after all")
    job = wait_for(job_id, State.COMPLETED)
    assert [error["code"] for error in errors(job)] == ["worker_death"]
    assert orjson.loads(job.result or "") == "after all"


def is_dead_after_silence(pid: int) -> bool:
    """Age the last heartbeat of a killed worker; return whether the server marked it as dead.

    The call repeats in case a heartbeat was on its way. A shorter silence would kill slow workers,
    too.
    """
    known = Worker.objects.filter(pid=pid)
    known.filter(dead_at=None).update(last_heartbeat_at=Now() - timedelta(minutes=1))
    return known.filter(dead_at__isnull=False).exists()


@spec("GS-1")
@both_kinds
def test_sigterm_finishes_what_runs_and_gives_the_rest_back(
    worker: Spawn, meeting: Meeting, handler: Handler[[str], str]
) -> None:
    ids = [stored(handler.enqueue(meeting.address)) for _ in range(2)]
    process = worker("--concurrency", "1")
    running = meeting.next()
    until(lambda: all(show(job_id).state == 4 for job_id in ids))  # the second job waits, claimed
    process.send_signal(signal.SIGTERM)
    until(lambda: any(state_of(show(job_id).state) is State.AVAILABLE for job_id in ids))
    running.let_go()
    assert process.wait(DEADLINE_S) == 0
    done, back = sorted((show(job_id) for job_id in ids), key=lambda job: job.state, reverse=True)
    assert (state_of(done.state), done.attempt) == (State.COMPLETED, 1)
    assert (state_of(back.state), back.attempt) == (State.AVAILABLE, 0)


@spec("GS-4")
@both_kinds
def test_what_outlasts_the_grace_period_is_given_back_unharmed(
    worker: Spawn, meeting: Meeting, handler: Handler[[str], str]
) -> None:
    job_id = stored(handler.enqueue(meeting.address))
    process = worker(OJS_SHUTDOWN_GRACE_MS="300")
    meeting.next()
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 1
    job = show(job_id)
    assert (state_of(job.state), job.attempt, errors(job)) == (State.AVAILABLE, 0, [])


@spec("GS-6")
def test_the_ready_file_is_there_while_jobs_are_taken(
    worker: Spawn, meeting: Meeting, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    stored(handlers.meet.enqueue(meeting.address))
    process = worker("--ready-file", str(ready))
    guest = meeting.next()
    assert ready.exists()
    process.send_signal(signal.SIGTSTP)
    until(lambda: not ready.exists())
    process.send_signal(signal.SIGCONT)
    until(ready.exists)
    process.send_signal(signal.SIGTERM)
    until(lambda: not ready.exists())
    guest.let_go()
    assert process.wait(DEADLINE_S) == 0


@pytest.mark.long
@spec("GS-5")
def test_a_second_sigterm_ends_at_once(worker: Spawn, meeting: Meeting) -> None:
    stored(handlers.meet.enqueue(meeting.address))
    process = worker()
    meeting.next()
    process.send_signal(signal.SIGTERM)
    until(lambda: Event.objects.filter(kind=31).exists())  # quiet: the first signal arrived
    process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 1


@spec("GS-5")
@both_kinds
def test_sigtstp_quiets_and_sigcont_resumes(
    worker: Spawn, meeting: Meeting, handler: Handler[[str], str]
) -> None:
    process = worker()
    first = stored(handler.enqueue(meeting.address))
    guest = meeting.next()
    process.send_signal(signal.SIGTSTP)
    until(lambda: Event.objects.filter(kind=31).exists())
    second = stored(handler.enqueue(meeting.address))
    guest.let_go()
    wait_for(first, State.COMPLETED)
    wait_for(second, State.AVAILABLE)  # a claim that had begun hands it back
    process.send_signal(signal.SIGCONT)
    meeting.next().let_go()
    assert wait_for(second, State.COMPLETED).attempt == 1


@spec("GS-15", "GS-3")
def test_an_operator_quiets_a_worker_and_resumes_it(worker: Spawn, meeting: Meeting) -> None:
    worker(OJS_WORKER_SILENCE_MS="6000")  # a heartbeat per second
    first = stored(handlers.meet.enqueue(meeting.address))
    guest = meeting.next()
    known = Worker.objects.get(pid=guest.pid)
    direct(known.id, "quiet")
    second = stored(handlers.meet.enqueue(meeting.address))
    guest.let_go()
    wait_for(first, State.COMPLETED)
    heard = timezone.now()
    until(lambda: Worker.objects.filter(id=known.id, last_heartbeat_at__gt=heard).exists())
    assert state_of(show(second).state) is State.AVAILABLE
    direct(known.id, "resume")
    meeting.next().let_go()
    wait_for(second, State.COMPLETED)


@pytest.mark.long
@spec("GS-15")
def test_an_operator_ends_a_worker_and_the_pool_starts_another(
    worker: Spawn, meeting: Meeting
) -> None:
    worker(OJS_WORKER_SILENCE_MS="6000")
    first = stored(handlers.meet.enqueue(meeting.address))
    guest = meeting.next()
    known = Worker.objects.get(pid=guest.pid)
    direct(known.id, "terminate")
    told = timezone.now()
    until(lambda: Worker.objects.filter(id=known.id, last_heartbeat_at__gt=told).exists())
    second = stored(handlers.meet.enqueue(meeting.address))
    guest.let_go()
    successor = meeting.next()
    assert successor.pid != guest.pid
    successor.let_go()
    wait_for(first, State.COMPLETED)
    wait_for(second, State.COMPLETED)
    known.refresh_from_db()
    assert known.stopped_at is not None


@pytest.mark.parametrize(
    "handler",
    [
        pytest.param(handlers.spin, id="python", marks=pytest.mark.long),
        pytest.param(handlers.block, id="c-call"),
        pytest.param(handlers.wait, id="coroutine", marks=pytest.mark.long),
        pytest.param(handlers.block_loop, id="blocked-loop", marks=pytest.mark.long),
    ],
)
def test_a_handler_that_never_ends_is_stopped(worker: Spawn, handler: Handler[[], None]) -> None:
    stuck = stored(handler.enqueue())
    worker("--concurrency", "1")
    job = wait_for(stuck, State.DISCARDED)
    assert errors(job)[0]["code"] == "timeout"
    after = stored(handlers.echo.enqueue(1))  # its slot is free again
    wait_for(after, State.COMPLETED)


@both_kinds
def test_a_cancelled_job_is_told_to_its_handler(
    worker: Spawn, meeting: Meeting, handler: Handler[[str], str]
) -> None:
    job_id = stored(handler.enqueue(meeting.address))
    worker(OJS_WORKER_SILENCE_MS="1500")
    guest = meeting.next()
    cancel(job_id)
    guest.let_go("too late")
    job = wait_for(job_id, State.CANCELLED)
    assert job.result is None


@spec("MT-7.3-a")
def test_a_worker_of_a_tenant_runs_its_jobs_and_no_other(worker: Spawn) -> None:
    put("acme", Definition(isolation="namespace"))
    of_acme, of_beta, also_of_acme = (
        stored(handlers.echo.options(meta={"tenant_id": tenant}).enqueue(1))
        for tenant in ("acme", "beta", "acme")
    )

    def states_after(*arguments: str) -> list[State]:
        assert worker("--once", *arguments).wait(DEADLINE_S) == 0
        return [state_of(show(job_id).state) for job_id in (of_acme, of_beta, also_of_acme)]

    assert states_after() == [State.AVAILABLE, State.COMPLETED, State.AVAILABLE]
    other = stored(handlers.echo.options(meta={"tenant_id": "beta"}).enqueue(2))
    assert states_after("--tenant", "acme") == [State.COMPLETED] * 3
    assert state_of(show(other).state) is State.AVAILABLE
    last = stored(handlers.echo.options(meta={"tenant_id": "acme"}).enqueue(3))
    states_after("--queues", "acme:tests")
    assert state_of(show(last).state) is State.COMPLETED


@pytest.mark.long
def test_a_coroutine_that_is_given_back_may_clean_up(worker: Spawn, meeting: Meeting) -> None:
    job_id = stored(handlers.meet_async.enqueue(meeting.address))
    process = worker(OJS_SHUTDOWN_GRACE_MS="300")
    guest = meeting.next()
    process.send_signal(signal.SIGTERM)

    assert guest.line.recv(100) == b"cancelled"
    assert process.wait(DEADLINE_S) == 1
    assert state_of(show(job_id).state) is State.AVAILABLE


@pytest.mark.long
def test_the_end_of_a_late_coroutine_keeps_its_process(worker: Spawn, meeting: Meeting) -> None:
    handlers.meet_async.enqueue(meeting.address)
    worker()
    before = meeting.next()
    wait_for(stored(handlers.wait.enqueue()), State.DISCARDED)
    handlers.meet_async.enqueue(meeting.address)

    assert meeting.next().pid == before.pid


@pytest.mark.long
def test_what_runs_beside_a_blocked_loop_is_given_back_unharmed(
    worker: Spawn, meeting: Meeting
) -> None:
    beside = stored(handlers.meet_async.enqueue(meeting.address))
    worker()
    first = meeting.next()
    handlers.block_loop.enqueue()
    second = meeting.next()
    second.let_go()

    job = wait_for(beside, State.COMPLETED)
    assert second.pid != first.pid
    assert (second.attempt, errors(job)) == (1, [])


@pytest.mark.long
def test_a_thousand_coroutines_run_at_once_in_a_dozen_threads(worker: Spawn) -> None:
    number = 1000
    drafts = [parse_job({"type": "tests.crowd", "queue": "tests", "args": [number]})] * number
    ids = [job.id for job in enqueue([replace(one, id=new_id()) for one in drafts]) if job]

    assert worker("--concurrency", str(number), "--once").wait(DEADLINE_S) == 0

    ended = [show(job_id) for job_id in ids]
    assert {state_of(job.state) for job in ended} == {State.COMPLETED}
    results = [orjson.loads(job.result or "") for job in ended]
    threads = max((result["threads"] for result in results), key=len)
    assert sum(name.startswith("ojs-handler-") for name in threads) == 1
    assert len(threads) <= 14, threads
    assert len({result["backend"] for result in results}) <= SHARED
