"""The product's processes in a drill: HTTP nodes, loop nodes and workers."""

import contextlib
import os
import secrets
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx

from bench.drills.load import QUEUE
from bench.drills.programs import DrillError, Process, Programs, wait_for
from bench.names import NOTES
from ojs_project.quickstart import ROOT

SERVER: Final = "BENCH_SERVER"  # address for the remote worker
START_S: Final = 120.0
CONCURRENCY: Final = "4"


@dataclass
class Fleet:
    """Processes of one database. `ways` has the variables of each way to it, by its name."""

    folder: Path
    programs: Programs
    ways: Mapping[str, Mapping[str, str]]
    source: Path = ROOT  # of the release
    urls: dict[str, str] = field(default_factory=dict)  # of the HTTP nodes, by way
    secret: str = field(default_factory=lambda: secrets.token_urlsafe(50))

    def manage(self, way: str, *command: str) -> str:
        """Run a command of manage.py; return its output. Raises DrillError."""
        done = subprocess.run(
            [*self._manage, *command], env=self.environment(way), cwd=self.source,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if done.returncode:
            raise DrillError(f"{command[0]} failed: {done.stderr[-1000:]}")
        return done.stdout

    def begin_http(self, way: str, port: int) -> Process:
        """Start an HTTP node, and wait until it is ready."""
        process = self.launch_http(way, port)
        self.wait_until_ready(way)
        return process

    def launch_http(self, way: str, port: int) -> Process:
        """Start an HTTP node."""
        process = self._begin(
            f"http-{way}",
            [sys.executable, "-m", "gunicorn", "--bind", f"127.0.0.1:{port}", "--workers", "1",
             "--threads", "4", "--log-level", "warning", "--config", "python:ojs_project.gunicorn"],
            way,
        )  # fmt: skip
        self.urls[way] = f"http://127.0.0.1:{port}"
        return process

    def wait_until_ready(self, way: str) -> None:
        """Wait until an HTTP node reports that it is ready. Raises DrillError."""
        wait_for(f"answer of HTTP node {way}", lambda: self.is_ready(way), START_S)

    def begin_loops(self, name: str, way: str) -> Process:
        """Start a loop node."""
        return self._begin(f"loops-{name}", [*self._manage, "runworker", "--no-handlers"], way)

    def begin_worker(self, name: str, way: str) -> Process:
        """Start a worker that uses the database."""
        command = [*self._manage, "runworker", "--no-loops", "--queues", QUEUE]
        return self._begin(
            f"worker-{name}", [*command, "--concurrency", CONCURRENCY], way, self._notes(name)
        )

    def begin_remote_worker(self, name: str, way: str) -> Process:
        """Start a worker that uses an HTTP node."""
        command = [*self._manage, "runworker", "--queues", QUEUE, "--concurrency", CONCURRENCY]
        more = {"DJANGO_SETTINGS_MODULE": "bench.drills.remote", SERVER: self.urls[way]}
        return self._begin(f"worker-{name}", command, way, more | self._notes(name))

    def is_ready(self, way: str) -> bool:
        """Return whether an HTTP node reports that it is ready."""
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{self.urls[way]}/ready", timeout=5).is_success
        return False

    def environment(self, way: str) -> dict[str, str]:
        """Return the variables of a process."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("OJS_")}
        return inherited | {
            "DJANGO_SETTINGS_MODULE": "bench.drills.handlers.settings",
            "PYTHONPATH": os.pathsep.join([str(self.source), str(ROOT)]),
            "OJS_SECRET_KEY": self.secret,
            "OJS_AUTH": "off",
            "OJS_ALLOW_INSECURE": "true",
            "OJS_ALLOWED_HOSTS": "*",
            "OJS_LOG_SAMPLE": "0.01",
            **self.ways[way],
        }

    @property
    def _manage(self) -> list[str]:
        return [sys.executable, str(self.source / "manage.py")]

    def _notes(self, name: str) -> dict[str, str]:
        return {NOTES: str(self.folder / f"{name}.notes")}

    def _begin(
        self, name: str, command: Sequence[str], way: str, more: Mapping[str, str] | None = None
    ) -> Process:
        return self.programs.begin(
            name, command, {**self.environment(way), **(more or {})}, cwd=self.source
        )
