"""The processes under test: a durable PostgreSQL, an HTTP server and loops, with a keeper."""

import contextlib
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString, Self

import httpx
import psycopg

from bench.stack import Process, free_port, http_server
from ojs_project.postgres import Cluster
from ojs_project.quickstart import MANAGE, ROOT
from ojs_tasks.worker.tether import tied

SILENCE_MS = 3000  # after which a worker is dead
START_S = 180.0  # on a machine that runs other tests as well
END_S = 45.0


class ArenaError(Exception):
    """The server does not recover."""


@dataclass
class Arena:
    """One server with its base `url`. Processes that end by themselves are restarted."""

    folder: Path
    cluster: Cluster = field(init=False)
    url: str = ""
    _kept: dict[str, tuple[Sequence[str], Process]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _over: threading.Event = field(default_factory=threading.Event)
    _keeper: threading.Thread | None = None

    def __post_init__(self) -> None:
        """Define the cluster; nothing runs yet."""
        self.cluster = Cluster(self.folder / "cluster", {"fsync": "on", "shared_buffers": "64MB"})

    def __enter__(self) -> Self:
        """Start all processes. Raises ArenaError, after it has ended the started processes."""
        with contextlib.ExitStack() as undo:
            undo.callback(self.stop)
            self._start()
            undo.pop_all()
        return self

    def __exit__(self, *_problem: object) -> None:
        """End all processes."""
        self.stop()

    def _start(self) -> None:
        self.cluster.start()
        subprocess.run(
            [*MANAGE, "migrate", "--verbosity", "0"], env=self.environment, cwd=ROOT, check=True
        )
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        self.keep("http", *http_server(port))
        for number in range(2):
            self.keep(f"loops-{number}", *MANAGE, "runworker", "--no-handlers")
        self._keeper = threading.Thread(target=self._revive, daemon=True)
        self._keeper.start()
        self.wait_until_ready(START_S)

    def stop(self) -> None:
        """End all processes, the database last."""
        self._over.set()
        if self._keeper:
            self._keeper.join()
        for _, process in self._kept.values():
            self.end(process)
        self.cluster.stop()

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of the server's processes."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("OJS_")}
        return inherited | {
            "DJANGO_SETTINGS_MODULE": "bench.settings",
            "PYTHONPATH": str(ROOT),
            "DATABASE_URL": self.cluster.url,
            "OJS_SECRET_KEY": self._secret,
            "OJS_AUTH": "off",
            "OJS_ALLOW_INSECURE": "true",
            "OJS_ALLOWED_HOSTS": "*",
            "OJS_WORKER_SILENCE_MS": str(SILENCE_MS),
            "OJS_SHUTDOWN_GRACE_PERIOD": "PT1S",
        }

    _secret = secrets.token_urlsafe(50)

    def keep(self, name: str, *command: str) -> None:
        """Start a process that is restarted when it ends."""
        with self._lock:
            self._kept[name] = (command, self.begin(*command))

    def begin(self, *command: str) -> Process:
        """Start a process; its output goes to a file of the arena."""
        with (self.folder / "server.log").open("ab") as log:
            return subprocess.Popen(
                command, env=self.environment, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, preexec_fn=tied(),  # noqa: PLW1509 - nothing but a system call
            )  # fmt: skip

    def end(self, process: Process) -> None:
        """Signal a process to end, and wait for its end."""
        for number in family(process.pid):
            send(number, signal.SIGCONT)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            for number in family(process.pid):
                send(number, signal.SIGKILL)
            process.wait()

    def pid(self, name: str) -> int:
        """Return the present process id under a name."""
        with self._lock:
            return self._kept[name][1].pid

    def _revive(self) -> None:
        while not self._over.wait(0.2):
            with self._lock:
                for name, (command, process) in list(self._kept.items()):
                    if process.poll() is not None:
                        self._kept[name] = (command, self.begin(*command))

    def ready_after(self, deadline_s: float) -> float:
        """Return the seconds until the server reports that it is ready; inf: not in time."""
        begin = time.monotonic()
        while (passed := time.monotonic() - begin) < deadline_s:
            with contextlib.suppress(httpx.TransportError):
                if httpx.get(f"{self.url}/ready", timeout=5.0).is_success:
                    return passed
            time.sleep(0.05)
        return float("inf")

    def wait_until_ready(self, deadline_s: float) -> None:
        """Wait until the server is ready. Raises ArenaError."""
        if self.ready_after(deadline_s) == float("inf"):
            raise ArenaError(f"not ready; see {self.folder / 'server.log'}")

    def postmaster(self) -> int:
        """Return the process id of PostgreSQL."""
        return int((self.cluster.data / "postmaster.pid").read_text().split()[0])

    def rows(self, statement: LiteralString, *values: object) -> list[tuple[Any, ...]]:
        """Query the database directly."""
        with psycopg.connect(self.cluster.url) as connection:
            return connection.execute(statement, values or None).fetchall()


def children(pid: int) -> list[int]:
    """Return the direct children of a process."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (thread / "children").read_text().split())
    return found


def family(pid: int) -> list[int]:
    """Return a process and all its descendants, ancestors first."""
    return [pid, *(one for child in children(pid) for one in family(child))]


def send(pid: int, number: signal.Signals) -> None:
    """Send a signal to a process that may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
