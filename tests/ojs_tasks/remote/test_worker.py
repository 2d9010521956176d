"""`runworker --server` of a project with `ojs_tasks` alone, against a real server."""

import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from jobs.models import Worker
from jobs.services.outcome.reap import reap_dead_workers
from jobs.services.workers.workers import direct
from ojs_tasks.remote.server import RemoteServer
from ojs_tasks.server import Snapshot
from tests.conftest import wait_until_healthy
from tests.jobs.worker.conftest import Meeting
from tests.ojs_tasks.remote.between import Between, Fault
from tests.ojs_tasks.remote.conftest import Site
from tests.ojs_tasks.remote.project import Project
from tests.processes import DEADLINE_S, children, is_alive, kill_family, until
from tests.spec import spec

Enqueue = Callable[..., str]


@pytest.fixture
def enqueue(remote: RemoteServer) -> Enqueue:
    """Return a function that stores a job of the project and returns its id."""

    def store(name: str, *args: Any, **members: Any) -> str:
        draft = {"type": f"shop.{name}", "queue": "shop", "args": list(args), **members}
        (found,) = remote.enqueue([draft])
        assert found is not None
        return found.id

    return store


@pytest.fixture
def meeting(tmp_path: Path) -> Iterator[Meeting]:
    """Return a socket for handlers."""
    place = Meeting(tmp_path / "s")
    yield place
    place.close()


def workers_of(parent: int) -> list[Worker]:
    """Return the live workers of a parent, without those of earlier tests."""
    return list(Worker.objects.filter(stopped_at=None, pid__in=children(parent)))


def ended(remote: RemoteServer, job_id: str) -> Snapshot:
    """Return a job after its end."""
    return remote.wait(job_id, DEADLINE_S)


@pytest.mark.long
def test_another_way_to_call_the_command_starts_its_processes(
    remote: RemoteServer, host: Project, enqueue: Enqueue
) -> None:
    added = enqueue("add", 1)

    host.run("-m", "django", "runworker", "--once")

    assert remote.read(added).state == "completed"


@pytest.mark.parametrize(
    ("name", "args", "result"),
    [
        ("add", [1, 2], {"sum": 3, "around": "shop.add"}),
        ("add", [1, {"__kwargs__": {"b": 5}}], {"sum": 6, "around": "shop.add"}),
        ("aadd", [2**70, 1], {"sum": 2**70 + 1, "around": "shop.aadd"}),
    ],
)
def test_once_runs_what_is_there_and_ends(
    remote: RemoteServer, host: Project, enqueue: Enqueue, name: str, args: list[Any], result: Any
) -> None:
    job_id = enqueue(name, *args)

    host.run("manage.py", "runworker", "--once")

    found = remote.read(job_id)
    assert (found.state, found.result) == ("completed", result)


def test_failures_are_reported_as_the_local_worker_does(
    remote: RemoteServer, host: Project, enqueue: Enqueue
) -> None:
    once: dict[str, Any] = {"retry": {"max_attempts": 1}}
    none: dict[str, Any] = {}
    jobs = {
        name: enqueue(name, *args, **members)
        for name, args, members in [
            ("fail", ["no such row"], once), ("discard", [], none), ("dont", [], none),
            ("strange", [], once), ("nul", [], once), ("unknown", [], once),
            ("spin", [], {**once, "timeout_ms": 1000}),
        ]
    }  # fmt: skip

    host.run("manage.py", "runworker", "--once", "--queues", "shop")

    found = {name: remote.read(job_id) for name, job_id in jobs.items()}
    assert {name: one.state for name, one in found.items()} == dict.fromkeys(jobs, "discarded")
    errors = {name: one.error or {} for name, one in found.items()}
    assert {name: error["code"] for name, error in errors.items()} == {
        "fail": "handler_error", "discard": "DISCARD", "dont": "handler_error",
        "strange": "invalid_result", "nul": "invalid_result", "unknown": "handler_not_found",
        "spin": "timeout",
    }  # fmt: skip
    assert (errors["fail"]["type"], errors["fail"]["message"]) == ("LookupError", "no such row")
    assert "ojs_jobs.py" in errors["fail"]["backtrace"][-1]
    assert found["dont"].attempt == 1


@pytest.mark.parametrize("batches", [True, False])
def test_many_jobs_end_with_few_requests_or_one_each(
    remote: RemoteServer, host: Project, between: Between, batches: bool
) -> None:
    if not batches:
        between.faults = [Fault("GET", "/ojs/manifest", 200, body=b'{"extensions": []}')]
    drafts = [{"type": "shop.add", "queue": "shop", "args": [n]} for n in range(60)]
    jobs = remote.enqueue(drafts)

    number = "2" if batches else "1"
    host.run("manage.py", "runworker", "--once", "--server", between.url, "--processes", number)

    results = [remote.read(one.id).result for one in jobs if one]
    assert [one["sum"] for one in results] == list(range(60))
    single = sum(line == "POST /ojs/v1/workers/ack" for line in between.seen)
    assert single < 60 if batches else single == 60


@pytest.mark.long
def test_retry_and_its_time_are_those_of_the_handler(
    remote: RemoteServer, host: Project, enqueue: Enqueue
) -> None:
    job_id = enqueue("again", retry={"max_attempts": 3, "initial_interval": "PT1H"})

    process = host.start("manage.py", "runworker")
    found = ended(remote, job_id)
    process.send_signal(signal.SIGTERM)
    process.communicate()

    assert (found.state, found.result, found.errors[0]["code"]) == ("completed", 2, "RETRY")


def test_progress_reaches_the_server(
    remote: RemoteServer, host: Project, enqueue: Enqueue, between: Between
) -> None:
    job_id = enqueue("report")

    host.run("manage.py", "runworker", "--once", "--server", between.url)

    found = remote.read(job_id)
    assert (found.progress, found.progress_message) == (1.0, "half")
    assert found.progress_data == {"rows": 10}
    assert f"PUT /ojs/v1/jobs/{job_id}/progress" in between.seen


@pytest.mark.parametrize("path", ["/workers/ack", "/workers/heartbeat", "/progress"])
def test_lost_answers_to_a_worker_do_no_harm(
    remote: RemoteServer, host: Project, enqueue: Enqueue, between: Between, path: str
) -> None:
    method = "PUT" if path == "/progress" else "POST"
    between.faults = [Fault(method, path)]
    job_id = enqueue("report")

    host.run("manage.py", "runworker", "--once", "--server", between.url)

    assert between.faults == []
    found = remote.read(job_id)
    assert (found.state, found.attempt, found.errors) == ("completed", 1, ())


def test_jobs_of_a_lost_fetch_come_back_unharmed_when_the_worker_ends(
    remote: RemoteServer, host: Project, enqueue: Enqueue, between: Between
) -> None:
    between.faults = [Fault("POST", "/workers/fetch")]
    job_id = enqueue("add", 1)

    process = host.start("manage.py", "runworker", "--server", between.url)
    until(lambda: not between.faults, "the fetch")
    until(lambda: remote.read(job_id).state == "active", "the claim")
    process.send_signal(signal.SIGTERM)
    process.communicate()

    found = remote.read(job_id)
    assert (process.returncode, found.state, found.attempt) == (0, "available", 0)


def test_a_cancelled_job_is_told_to_its_handler(
    remote: RemoteServer, host: Project, enqueue: Enqueue, meeting: Meeting
) -> None:
    job_id = enqueue("meet", meeting.address)
    process = host.start("manage.py", "runworker")
    guest = meeting.next()

    assert remote.cancel(job_id).state == "cancelled"
    guest.let_go()
    process.send_signal(signal.SIGTERM)
    process.communicate()

    assert (process.returncode, remote.read(job_id).state) == (0, "cancelled")


def test_sigterm_lets_running_jobs_finish_and_hides_the_ready_file(
    remote: RemoteServer, host: Project, enqueue: Enqueue, meeting: Meeting, tmp_path: Path
) -> None:
    job_id = enqueue("meet", meeting.address)
    ready = tmp_path / "ready"
    process = host.start("manage.py", "runworker", "--ready-file", str(ready))
    guest = meeting.next()
    assert ready.exists()

    process.send_signal(signal.SIGTERM)
    until(lambda: not ready.exists(), "the drain")
    late = enqueue("add", 1)
    guest.let_go("finished")
    process.communicate()

    assert process.returncode == 0
    assert remote.read(job_id).result["said"] == "finished"
    assert remote.read(late).state == "available"
    assert not Worker.objects.filter(stopped_at=None).exists()


def test_after_the_grace_period_jobs_go_back_unharmed(
    remote: RemoteServer, host: Project, enqueue: Enqueue, meeting: Meeting
) -> None:
    job_id = enqueue("meet", meeting.address)
    process = host.start("manage.py", "runworker", HOST_GRACE_MS="200")
    meeting.next()

    process.send_signal(signal.SIGTERM)
    process.communicate()

    found = remote.read(job_id)
    assert (process.returncode, found.state, found.attempt) == (1, "available", 0)


def test_another_worker_gets_the_job_of_a_killed_one(
    remote: RemoteServer, host: Project, enqueue: Enqueue, meeting: Meeting
) -> None:
    job_id = enqueue("meet", meeting.address)
    first = host.start("manage.py", "runworker")
    guest = meeting.next()
    kill_family(first.pid)
    until(lambda: not is_alive(guest.pid), "the end of the worker")

    Worker.objects.update(last_heartbeat_at=F("last_heartbeat_at") - timedelta(minutes=5))
    reap_dead_workers()  # the loop of the server would do it half a minute later
    second = host.start("manage.py", "runworker")
    guest = meeting.next()
    guest.let_go("again")

    found = ended(remote, job_id)
    assert (found.result["said"], found.attempt) == ("again", 2)
    assert found.errors[0]["code"] == "worker_death"
    second.send_signal(signal.SIGTERM)
    second.communicate()


def test_a_worker_outlives_a_restart_of_the_server(
    site: Site, remote: RemoteServer, host: Project, enqueue: Enqueue, meeting: Meeting
) -> None:
    job_id = enqueue("meet", meeting.address)
    process = host.start("manage.py", "runworker")
    guest = meeting.next()

    site.restart()
    guest.let_go("through")
    wait_until_healthy(site.url)

    assert ended(remote, job_id).result["said"] == "through"
    assert ended(remote, enqueue("add", 1)).attempt == 1
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 0


@pytest.mark.long
def test_a_directive_of_an_operator_is_obeyed(
    remote: RemoteServer, host: Project, enqueue: Enqueue, meeting: Meeting
) -> None:
    job_id = enqueue("meet", meeting.address)
    process = host.start("manage.py", "runworker")
    guest = meeting.next()

    worker_id = Worker.objects.get(pid=guest.pid).id
    direct(worker_id, "quiet")
    guest.let_go()
    ended(remote, job_id)
    late = enqueue("add", 1)
    direct(worker_id, "resume")

    assert ended(remote, late).state == "completed"
    process.send_signal(signal.SIGTERM)  # killed, its open claim would take a job of the next test
    process.communicate()


@spec("GS-15", "contract 9.4")
def test_a_worker_that_an_operator_ends_is_not_replaced(
    remote: RemoteServer, host: Project, enqueue: Enqueue, meeting: Meeting
) -> None:
    job_id = enqueue("meet", meeting.address)
    parent = host.start("manage.py", "runworker", "--processes", "2")
    guest = meeting.next()
    until(lambda: len(workers_of(parent.pid)) == 2, "both workers")

    direct(Worker.objects.get(pid=guest.pid).id, "terminate")
    guest.let_go("finished")
    assert ended(remote, job_id).result["said"] == "finished"
    until(lambda: len(children(parent.pid)) == 1, "the end of the worker")
    (other,) = workers_of(parent.pid)
    assert ended(remote, enqueue("add", 1)).state == "completed"

    direct(other.id, "terminate")
    _, lines = parent.communicate()
    late = enqueue("add", 1)

    assert parent.returncode == 0
    assert lines.count("worker.dismissed") == 2
    assert "worker.replaced" not in lines
    assert remote.read(late).state == "available"


@spec("GS-15")
def test_a_worker_that_an_operator_ends_gives_jobs_back_after_its_grace_period(
    remote: RemoteServer, host: Project, enqueue: Enqueue, meeting: Meeting
) -> None:
    job_id = enqueue("meet", meeting.address)
    parent = host.start("manage.py", "runworker", HOST_GRACE_MS="200")
    guest = meeting.next()

    direct(Worker.objects.get(pid=guest.pid).id, "terminate")
    parent.communicate()

    found = remote.read(job_id)
    assert (parent.returncode, found.state, found.attempt) == (1, "available", 0)


@pytest.mark.parametrize(
    ("arguments", "variables", "problem"),
    [
        ([], {"HOST_SERVER": ""}, "name the server"),
        (["--server", "ftp://x"], {}, "must be an address"),
        (["--server", "https://a:b@x"], {}, "no credentials"),
        (["--concurrency", "0"], {}, "at least 1"),
    ],
)
def test_a_wrong_command_is_refused_in_one_line(
    host: Project, arguments: list[str], variables: dict[str, str], problem: str
) -> None:
    process = host.start("manage.py", "runworker", *arguments, **variables)
    _, errors = process.communicate()

    assert process.returncode == 1
    assert problem in errors
    assert len(errors.strip().splitlines()) == 1


@pytest.mark.long
def test_a_wrong_key_is_logged_and_a_new_one_is_used(
    remote: RemoteServer, host: Project, enqueue: Enqueue, tmp_path: Path
) -> None:
    right = (tmp_path / "key").read_text()
    (tmp_path / "key").write_text("ojs_abcdefgh_" + "x" * 43)
    job_id = enqueue("add", 1)
    process = host.start("manage.py", "runworker")
    assert process.stderr is not None
    lines: list[str] = []
    while not any("heartbeat.failed" in line for line in lines):
        lines.append(process.stderr.readline())

    (tmp_path / "key").write_text(right)

    assert ended(remote, job_id).state == "completed"
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert "xxxxx" not in "".join(lines) + errors
    assert right.strip() not in "".join(lines) + errors


@spec("contract 34.2")
def test_steps_and_jobs_as_steps_of_remote_handlers_wait_without_a_slot(
    remote: RemoteServer, host: Project, enqueue: Enqueue
) -> None:
    once = {"retry": {"max_attempts": 1}}
    ids = [enqueue(name, 5, **once) for name in ("steps", "asteps")]
    host.start("manage.py", "runworker", "--concurrency", "1")
    until(lambda: {remote.read(one).state for one in ids} == {"scheduled"})

    for one in ids:
        remote.signal(one, "go", {"by": "ada"})

    common = {"payload": {"by": "ada"}, "attempt": 1}
    assert [(found.state, found.result) for found in (ended(remote, one) for one in ids)] == [
        ("completed", {"sum": 6, "around": "shop.steps", **common}),
        ("completed", {"sum": 13, "around": "shop.asteps", **common}),
    ]

    parents = [enqueue(name, 5, **once) for name in ("parent", "aparent")]
    assert [ended(remote, one).result for one in parents] == [
        {"sum": 6, "attempt": 1, "around": "shop.parent"},
        {"sums": [6, 7, 1, 2], "around": "shop.aparent"},
    ]
