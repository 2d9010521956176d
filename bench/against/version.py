"""One version of the product: built in a clone of its own, started as the quickstart starts it."""

import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from bench.database import Database
from bench.names import CLAIMED
from bench.stack import END_S, START_S, Process, StackError, free_port
from ojs_tasks.worker.tether import tied

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = "OJS_"  # of variables: they would change the default settings


@dataclass
class Version:
    """A clone of one commit with a virtualenv, a server on one database, and its worker."""

    name: str
    commit: str
    folder: Path
    database: Database
    port: int = 0
    _processes: list[Process] = field(default_factory=list)

    @property
    def code(self) -> Path:
        """The clone."""
        return self.folder / "code"

    @property
    def processes(self) -> list[Process]:
        """The started processes: the server first."""
        return self._processes

    def build(self) -> None:
        """Clone the commit and install what its lock names. Raises StackError."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o711)
        _run(self.folder, "git", "clone", "--quiet", "--no-checkout", str(ROOT), str(self.code))
        _run(self.code, "git", "checkout", "--quiet", self.commit)
        _run(self.code, "make", "setup")

    def start(self) -> None:
        """Start the server with its default settings. Raises StackError."""
        self.port = free_port()
        self._secret = secrets.token_urlsafe(50)
        self._begin("quickstart", "--no-demo", "--port", str(self.port), "--data-dir",
                    str(self.folder / "data"))  # fmt: skip
        self._wait_until_healthy()

    def begin_worker(self, *, processes: int = 2, threads: int = 50) -> Process:
        """Start handlers besides the loops of the server."""
        return self._begin(
            "runworker", "--no-loops", "--queues", CLAIMED, "--processes", str(processes),
            "--concurrency", str(threads),
        )  # fmt: skip

    def end(self, process: Process) -> None:
        """Let a process drain, and wait for its end."""
        self._processes.remove(process)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def stop(self) -> None:
        """End all processes, and remove the clone."""
        while self._processes:
            self.end(self._processes[-1])
        shutil.rmtree(self.folder, ignore_errors=True)

    def _begin(self, *command: str) -> Process:
        with (self.folder / "server.log").open("ab") as log:
            process = subprocess.Popen(
                [str(self.code / ".venv/bin/python"), str(self.code / "manage.py"), *command],
                env=self._environment(), cwd=self.code,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=tied(),  # noqa: PLW1509 - nothing but a system call
            )  # fmt: skip
        self._processes.append(process)
        return process

    def _environment(self) -> Mapping[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(NAMESPACE)}
        return kept | {
            "DJANGO_SETTINGS_MODULE": "bench.settings",  # the default settings, and handlers
            "PYTHONPATH": str(self.code),
            "DATABASE_URL": self.database.url,
            "OJS_SECRET_KEY": self._secret,
            "OJS_ALLOW_INSECURE": "true",
            "OJS_AUTH": "off",
        }

    def _wait_until_healthy(self) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until and self._processes[0].poll() is None:
            try:
                with urlopen(f"http://127.0.0.1:{self.port}/livez", timeout=2):
                    return
            except (URLError, OSError):
                time.sleep(0.1)
        raise StackError(f"{self.name} did not answer; see {self.folder / 'server.log'}")


def _run(folder: Path, *command: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise StackError(f"{command[0]} failed: {done.stderr[-1000:]}")
