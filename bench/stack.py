"""The processes of a server on one database, started as the quickstart starts them."""

import os
import secrets
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from bench import streams
from bench.database import Database
from bench.memory import Peaks
from bench.names import ENGINE, ONE_BY_ONE
from ojs_project.quickstart import MANAGE, ROOT, children
from ojs_tasks.worker.tether import tied

HTTP_PROCESSES, HTTP_THREADS = 2, 4  # as in the quickstart
SETTINGS = {
    **streams.SETTINGS,
    "OJS_LOG_SAMPLE": "0.01",  # every line would be half of the work of a no-op job
    "OJS_RETENTION_EVENT_ROWS": "0",  # a history is measured with all of its events
}
START_S = 180.0  # many processes on a busy machine
END_S = 45.0

Process = subprocess.Popen[bytes]


class StackError(Exception):
    """A process of the server failed or did not become ready."""


@dataclass
class Stack:
    """HTTP server and loops of one database; the HTTP clients' key is made at the start."""

    database: Database
    folder: Path
    peaks: Peaks
    scopes: str = "producer,worker,ojs:data:read"  # of the key
    settings: Mapping[str, str] = field(default_factory=lambda: SETTINGS)
    port: int = 0
    key: str = ""
    _processes: list[Process] = field(default_factory=list)
    _ports: dict[str, int] = field(default_factory=dict)

    def start(self) -> "Stack":
        """Migrate, make the API key, start the HTTP server and the loops. Raises StackError."""
        self.prepare()
        self.port, _ = self.begin_server()
        self.begin_loops()
        return self

    def prepare(self) -> None:
        """Migrate, and make the API key. Raises StackError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._environment = self._make_environment()
        self._run("migrate", "--verbosity", "0")
        self.key = self._run("createapikey", "bench", "--scopes", self.scopes).strip()

    def manage(self, *arguments: str) -> str:
        """Run a command of manage.py and return its output. Raises StackError."""
        return self._run(*arguments)

    def begin_loops(self) -> Process:
        """Start the process that runs the loops."""
        return self._begin([*MANAGE, "runworker", "--no-handlers"])

    def stop(self) -> None:
        """End the started processes, the last started first."""
        while self._processes:
            self.end(self._processes[-1])

    def begin_worker(
        self, queue: str, *, processes: int, threads: int = 10, one_by_one: bool = False
    ) -> Process:
        """Start handlers; the loops run already."""
        command = [*MANAGE, "runworker", "--no-loops", "--queues", queue]
        command += ["--processes", str(processes), "--concurrency", str(threads)]
        return self._begin(command, {ONE_BY_ONE: "true"} if one_by_one else {})

    def end(self, process: Process) -> None:
        """Signal a process to drain, and wait for its end."""
        self._processes.remove(process)
        if process.poll() is None:
            self.peaks.look()
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def port_with(self, engine: str) -> int:
        """Return the port of a second HTTP server that uses another database engine."""
        if engine not in self._ports:
            self._ports[engine], _ = self.begin_server({ENGINE: engine})
        return self._ports[engine]

    def begin_server(
        self, more: Mapping[str, str] | None = None, processes: int = HTTP_PROCESSES
    ) -> tuple[int, Process]:
        """Start an HTTP server with further settings; returns its port. Raises StackError."""
        port = free_port()
        # each start has a folder for metrics, as with the quickstart
        metrics = self.folder / f"metrics-{port}"
        metrics.mkdir()
        variables = {"PROMETHEUS_MULTIPROC_DIR": str(metrics), **(more or {})}
        process = self._begin(http_server(port, processes), variables)
        self._wait_until_healthy(port)
        return port, process

    def _make_environment(self) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("OJS_")}
        return inherited | {
            "DJANGO_SETTINGS_MODULE": "bench.settings",
            "PYTHONPATH": str(ROOT),
            "DATABASE_URL": self.database.url,
            "OJS_SECRET_KEY": secrets.token_urlsafe(50),
            "OJS_AUTH": "apikey",
            "OJS_ALLOWED_HOSTS": "*",
            **self.settings,
        }

    def _begin(self, command: Sequence[str], more: Mapping[str, str] | None = None) -> Process:
        with (self.folder / "server.log").open("ab") as log:
            process = subprocess.Popen(
                command, env={**self._environment, **(more or {})}, cwd=ROOT,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=tied(),  # noqa: PLW1509 - nothing but a system call
            )  # fmt: skip
        self._processes.append(process)
        return process

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            [*MANAGE, *arguments], env=self._environment, cwd=ROOT,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise StackError(f"{arguments[0]} failed: {done.stderr[-1000:]}")
        return done.stdout

    def _wait_until_healthy(self, port: int) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            try:
                with urlopen(f"http://127.0.0.1:{port}/livez", timeout=2):
                    return
            except (URLError, OSError):
                time.sleep(0.1)
        raise StackError(f"the HTTP server did not answer; see {self.folder / 'server.log'}")


def http_server(port: int, processes: int = HTTP_PROCESSES) -> Sequence[str]:
    """Return the command that starts an HTTP server as the quickstart does."""
    options = {
        "host": "127.0.0.1", "port": port, "workers": 0,
        "http_workers": processes, "http_threads": HTTP_THREADS,
    }  # fmt: skip
    return children({}, options)[0].command


def free_port() -> int:
    """Return a port that was free just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
