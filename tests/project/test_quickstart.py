"""`manage.py quickstart` in real processes."""

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from ojs_project.management.commands.quickstart import Command
from tests.conftest import ROOT
from tests.processes import DEADLINE_S, children, is_alive, until
from tests.project.conftest import Quickstart, Start
from tests.spec import spec

# one module, one process: the tests share a running server
pytestmark = pytest.mark.xdist_group("quickstart")

KEY = r"ojs_[a-z0-9]{8}_[A-Za-z0-9_-]{43}"


@pytest.fixture(scope="module")
def running(start: Start, new_folder: Callable[[], Path]) -> Quickstart:
    """Return a server at its first start."""
    nowhere = "http://127.0.0.1:9"  # a proxy, as company networks have
    server = start(new_folder(), "--demo", OJS_MAX_BATCH="7", http_proxy=nowhere)
    return server.wait_for_greeting()


def get(url: str, **headers: str) -> httpx.Response:
    """Send a GET request."""
    return httpx.get(url, headers=headers, timeout=DEADLINE_S)


def is_healthy(server: Quickstart) -> bool:
    """Return whether the server answers and every loop runs."""
    try:
        return bool(get(f"{server.url}/ojs/v1/health").json()["status"] == "ok")
    except (httpx.HTTPError, ValueError):
        return False


def run_curl(server: Quickstart) -> httpx.Response:
    """Run the curl line of the greeting in a shell."""
    done = subprocess.run(
        ["/bin/sh", "-c", server.curl().replace("curl ", "curl -s -w '%{http_code}' ", 1)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return httpx.Response(int(done.stdout[-3:]), text=done.stdout[:-3])


def test_the_first_start_tells_address_login_and_data(running: Quickstart) -> None:
    assert running.said("Open Job Spec server") == running.url
    assert running.said("console") == f"{running.url}/console/"
    assert re.fullmatch(r"admin / \S{16}", running.said("login"))
    assert Path(running.said("data")).is_dir()


def test_the_curl_line_enqueues_a_job_that_runs(running: Quickstart) -> None:
    answer = run_curl(running)

    assert answer.status_code == 201
    job = f"{running.url}/ojs/v1/jobs/{answer.json()['job']['id']}"
    until(lambda: get(job).json()["job"]["state"] == "completed")
    assert get(job).json()["job"]["result"] == {"greeting": "Hello, world"}


def test_variables_reach_the_server(running: Quickstart) -> None:
    manifest = get(f"{running.url}/ojs/manifest").json()

    assert manifest["limits"]["max_batch_size"] == 7


@pytest.mark.long
def test_the_commands_line_reaches_the_database(running: Quickstart) -> None:
    command = f"{running.said('for manage.py')} {sys.executable} {ROOT}/manage.py ojs stats"

    done = subprocess.run(
        ["/bin/sh", "-c", command], capture_output=True, text=True, check=True, cwd="/"
    )

    assert "completed" in done.stdout


def test_nothing_warns(running: Quickstart) -> None:
    assert "warning" not in running.output.lower()


def test_only_its_own_names_are_answered(running: Quickstart) -> None:
    assert get(f"{running.url}/ojs/v1/jobs", Host="evil.example").status_code == 400
    assert get(f"{running.url}/ojs/v1/jobs", Host="localhost:1").status_code == 200


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the account")
def test_postgresql_of_root_runs_under_another_account(running: Quickstart) -> None:
    postgres = running.child("bin/postgres")

    assert Path(f"/proc/{postgres}").stat().st_uid != 0


def test_a_port_in_use_is_refused(
    running: Quickstart, start: Start, new_folder: Callable[[], Path]
) -> None:
    other = start(new_folder(), "--port", str(running.port))

    assert other.process.wait(DEADLINE_S) == 2
    other.kill()
    assert other.output == (
        f"CommandError: cannot serve 127.0.0.1:{running.port}: Address already in use\n"
    )


def test_a_second_instance_on_the_same_data_is_refused(running: Quickstart, start: Start) -> None:
    folder = running.said("data")
    other = start(Path(folder))

    assert other.process.wait(DEADLINE_S) == 2
    other.kill()
    assert other.output == f"CommandError: {folder} is in use by another instance\n"


@pytest.mark.long
def test_a_foreign_folder_is_refused_and_left_alone(
    start: Start, new_folder: Callable[[], Path]
) -> None:
    folder = new_folder()
    (folder / "metrics").mkdir(parents=True)
    (folder / "metrics" / "precious").touch()

    for environment in ({}, {"DATABASE_URL": "postgresql://nobody@/nowhere"}):
        other = start(folder, **environment)
        assert other.process.wait(DEADLINE_S) == 2
        other.kill()
        assert other.output == (
            f"CommandError: {folder} holds other files: choose another data dir\n"
        )
    assert [path.name for path in folder.rglob("*")] == ["metrics", "precious"]


def test_a_database_that_is_away_is_one_line(start: Start, new_folder: Callable[[], Path]) -> None:
    other = start(new_folder(), DATABASE_URL="postgresql://nobody@/nowhere?host=/nowhere")

    assert other.process.wait(DEADLINE_S) == 2
    other.kill()
    assert other.output.startswith("CommandError: preparing the database failed: ")
    assert other.output.count("\n") == 1


@pytest.mark.parametrize(
    "host",
    [
        "0.0.0.0",  # noqa: S104
        pytest.param("::", marks=pytest.mark.long),
        pytest.param("192.0.2.1", marks=pytest.mark.long),
        pytest.param("example.org", marks=pytest.mark.long),
    ],
)
def test_an_open_host_without_keys_is_refused(
    start: Start, new_folder: Callable[[], Path], host: str
) -> None:
    folder = new_folder()
    other = start(folder, "--host", host)

    assert other.process.wait(DEADLINE_S) == 2
    other.kill()
    assert other.output == (
        f"CommandError: {host} can be reached from outside: add --auth on, or serve 127.0.0.1\n"
    )
    assert not folder.exists()


@pytest.mark.parametrize("arguments", [("--port", "0"), ("--port", "70000"), ("--workers", "0")])
def test_impossible_numbers_are_refused(
    arguments: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        Command().run_from_argv(["manage.py", "quickstart", *arguments])

    assert ended.value.code == 2
    assert f"error: argument {arguments[0]}: {arguments[1]} is not a" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("gunicorn",), marks=pytest.mark.long),
        ("runworker",),
        ("runworker", "--child"),
        ("qcluster",),
        ("bin/postgres",),
    ],
    ids=" ".join,
)
def test_a_killed_child_is_replaced(running: Quickstart, words: tuple[str, ...]) -> None:
    until(lambda: running.child(*words) is not None, "the process")
    killed = running.child(*words)
    assert killed is not None
    orphans = [pid for pid in running.family() if pid != running.process.pid]

    os.kill(killed, signal.SIGKILL)

    until(lambda: running.child(*words) not in {None, killed}, "a new process")
    until(lambda: is_healthy(running), "health")
    # another process can still hold a session of the PostgreSQL that was killed
    until(lambda: run_curl(running).status_code == 201, "a stored job")
    until(
        lambda: not any(is_alive(pid) for pid in orphans if pid not in running.family()),
        "the end of its children",
    )


def test_a_killed_http_worker_is_replaced_while_others_serve(running: Quickstart) -> None:
    until(lambda: is_healthy(running), "health")
    first = running.child("gunicorn")
    assert first is not None
    until(lambda: len(children(first)) == 2, "two workers")
    workers = children(first)

    os.kill(workers[0], signal.SIGKILL)

    until(lambda: len({*children(first)} - {workers[0]}) == 2, "a new worker")
    assert running.child("gunicorn") == first


@spec("contract 31.3")
def test_slow_clients_do_not_stop_the_server(running: Quickstart) -> None:
    until(lambda: is_healthy(running), "health")
    begun = b"POST /console/login/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\na="
    with ExitStack() as lines:
        for _ in range(40):
            line = socket.create_connection(("127.0.0.1", running.port))
            lines.enter_context(line).sendall(begun)

        assert get(f"{running.url}/livez").status_code == 200
        # a loaded machine may need a second try
        until(lambda: run_curl(running).status_code == 201, "a stored job")


@pytest.mark.long
def test_the_next_start_has_the_data_and_says_no_secret_again(
    start: Start, new_folder: Callable[[], Path]
) -> None:
    folder = new_folder()
    first = start(folder, "--auth", "on", "--host", "0.0.0.0").wait_for_greeting()  # noqa: S104
    key = first.said("API key")
    assert re.fullmatch(KEY, key)
    jobs = f"{first.url}/ojs/v1/jobs"
    assert httpx.post(jobs, json={"type": "x", "args": []}, timeout=DEADLINE_S).status_code == 401
    stored = run_curl(first)
    assert stored.status_code == 201
    assert first.end(signal.SIGINT) == 0  # no process is left

    second = start(folder, OJS_AUTH="apikey", OJS_API_KEY=key).wait_for_greeting()

    assert second.said("login") == "admin / the password of the first start"
    assert not re.search(KEY, second.output)
    job = f"{second.url}/ojs/v1/jobs/{stored.json()['job']['id']}"
    assert get(job).status_code == 401
    # without --demo, no worker of the server runs this job
    shown = get(job, Authorization=f"Bearer {key}").json()["job"]
    assert shown["state"] == "available"
    assert second.end(signal.SIGTERM) == 0


def test_a_signal_during_the_start_ends_it_in_order(
    start: Start, new_folder: Callable[[], Path]
) -> None:
    folder = new_folder()
    server = start(folder)
    until((folder / "postgres" / "postmaster.pid").exists)

    assert server.end(signal.SIGTERM) == 0

    assert not (folder / "postgres" / "postmaster.pid").exists()  # a clean shutdown


@pytest.mark.long
def test_kill_9_takes_everything_along_and_the_second_signal_has_no_patience(
    start: Start, new_folder: Callable[[], Path]
) -> None:
    folder = new_folder()
    first = start(folder).wait_for_greeting()
    stored = run_curl(first).json()["job"]["id"]

    first.process.kill()
    first.process.wait(DEADLINE_S)  # otherwise it may still hold the folder
    second = start(folder).wait_for_greeting()  # waits for the end of the old PostgreSQL

    assert get(f"{second.url}/ojs/v1/jobs/{stored}").status_code == 200
    worker = second.child("runworker")
    assert worker is not None
    members = second.family()
    os.kill(worker, signal.SIGSTOP)  # the stopped worker ignores the signal
    second.process.send_signal(signal.SIGINT)
    second.wait_for("stopping")
    second.process.send_signal(signal.SIGINT)
    assert second.process.wait(DEADLINE_S) == 0
    until(lambda: not any(map(is_alive, members)), "the end of every process")
