"""`quickstart` as an operator runs it, in a data dir of its own."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT, free_port
from tests.processes import DEADLINE_S, family, is_alive, kill_family, until

OWN = ("OJS_", "DATABASE_", "PROMETHEUS_", "DJANGO_")


def clean_environment() -> dict[str, str]:
    """Return the environment without the variables that the server reads."""
    return {name: text for name, text in os.environ.items() if not name.startswith(OWN)}


class Quickstart:
    """A running `manage.py quickstart`."""

    def __init__(self, folder: Path, *arguments: str, **environment: str) -> None:
        """Start it, from a directory outside the project."""
        self.port = free_port()
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "quickstart", "--port", str(self.port),
             "--data-dir", str(folder), *arguments],
            cwd="/", env={**clean_environment(), **environment}, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
        self._lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                self._lines.append(line)

    @property
    def url(self) -> str:
        """The URL of the server."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def output(self) -> str:
        """The output so far."""
        return "".join(self._lines)

    def wait_for(self, text: str) -> "Quickstart":
        """Wait until this text is in the output; fail if the process ends before."""
        until(
            lambda: text in self.output or self.process.poll() is not None,
            f"{text!r}", deadline_s=2 * DEADLINE_S,
        )  # fmt: skip
        assert text in self.output, self.output
        return self

    def wait_for_greeting(self) -> "Quickstart":
        """Wait until the greeting is printed; the server answers then."""
        return self.wait_for("-d '{")

    def said(self, name: str) -> str:
        """Return one value of the greeting."""
        found = re.search(rf"^  {name} +(.*)$", self.output, re.MULTILINE)
        assert found is not None, self.output
        return found[1]

    def curl(self) -> str:
        """Return the curl line of the greeting."""
        return self.output[self.output.index("  curl ") :].partition("}'")[0] + "}'"

    def family(self) -> list[int]:
        """Return the ids of all its processes."""
        return family(self.process.pid)

    def child(self, *words: str) -> int | None:
        """Return its oldest descendant whose command line holds `words`."""
        for pid in self.family()[1:]:
            try:
                command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            except OSError:
                continue
            if all(any(part.endswith(word) for part in command) for word in words):
                return pid
        return None

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        """Send a signal and wait until no process is left; return the exit code."""
        members = self.family()
        self.process.send_signal(number)
        code = self.process.wait(2 * DEADLINE_S)
        until(lambda: not any(map(is_alive, members)), "the end of every process")
        self._reader.join()
        return code

    def kill(self) -> None:
        """Kill all processes that are left."""
        if self.process.poll() is None:
            kill_family(self.process.pid)
        self.process.wait()
        self._reader.join()


@pytest.fixture(scope="module")
def new_folder() -> Iterator[Callable[[], Path]]:
    """Return a function that names a new data dir; root's PostgreSQL account can enter it."""
    made: list[Path] = []

    def make() -> Path:
        made.append(Path(tempfile.mkdtemp(prefix="ojs-quickstart-")))
        made[-1].chmod(0o711)
        return made[-1] / "d"

    yield make
    for folder in made:
        shutil.rmtree(folder)


Start = Callable[..., Quickstart]


@pytest.fixture(scope="module")
def start(new_folder: object) -> Iterator[Start]:
    """Return a function that starts `quickstart`; kill the instances that tests leave running."""
    started: list[Quickstart] = []

    def run(folder: Path, *arguments: str, **environment: str) -> Quickstart:
        started.append(Quickstart(folder, *arguments, **environment))
        return started[-1]

    yield run
    for one in started:
        one.kill()
