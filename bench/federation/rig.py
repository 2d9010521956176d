"""Three regions that can be killed, restarted and cut off from each other.

Each is a whole `quickstart` with its own PostgreSQL on its own loopback address. Requests between
regions go through proxies of the rig, one for each direction. The end of a proxy is a partition.
"""

import contextlib
import os
import re
import secrets
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.request import ProxyHandler, build_opener

import orjson
import psycopg

from ojs_project.quickstart import MANAGE
from ojs_project.regions import region_environment

HOSTS = {"us": "127.0.0.1", "eu": "127.0.0.2", "ap": "127.0.0.3"}
START_S = 300.0
END_S = 90.0
OWN = ("OJS_", "DATABASE_", "PROMETHEUS_", "DJANGO_")
QUICK: Mapping[str, Any] = {
    "topology": "active-active",
    "health_check": {"interval_seconds": 1, "timeout_seconds": 2},
    "load_interval_seconds": 1,
    "circuit_breaker": {"failure_threshold": 3, "cooldown_seconds": 3},
    "replication": {"enabled": True, "mode": "full", "interval_seconds": 0.5},
}
DIRECTLY = build_opener(ProxyHandler({}))


class RigError(Exception):
    """A region failed an expectation of the rig."""


class Proxy:
    """A TCP proxy from one region to another; `cut` is a partition, `heal` its end."""

    def __init__(self, host: str, port: int) -> None:
        """Start the proxy."""
        self._target = (host, port)
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self.port = 0
        self._listener: socket.socket | None = None
        self.heal()

    def heal(self) -> None:
        """Accept connections, at the same port as before."""
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self.port))
        listener.listen(128)
        self.port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def cut(self) -> None:
        """Refuse new connections and close the open connections."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()
        with self._lock:
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        try:
            far = socket.create_connection(self._target, 5)
        except OSError:
            near.close()
            return
        far.settimeout(None)
        ends = (near, far)
        with self._lock:
            self._open.update(ends)
        back = threading.Thread(target=_pump, args=(far, near), daemon=True)
        back.start()
        _pump(near, far)
        back.join()
        with self._lock:
            self._open.difference_update(ends)
        for one in ends:
            one.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            target.sendall(data)
    for one in (source, target):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


class Server:
    """The server of one region."""

    def __init__(self, region: str, port: int, folder: Path) -> None:
        """Set its name; `start` needs the environment with the other regions."""
        self.region, self.port, self.folder = region, port, folder
        self.host = HOSTS[region]
        self.environment: dict[str, str] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._log = folder.with_suffix(".log")

    @property
    def url(self) -> str:
        """The URL for all clients except the other regions."""
        return f"http://{self.host}:{self.port}"

    def start(self) -> None:
        """Start it; call `wait` afterwards."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(OWN)}
        command = [
            *MANAGE, "quickstart", "--host", self.host, "--port", str(self.port),
            "--data-dir", str(self.folder), "--http-workers", "1",
        ]  # fmt: skip
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command, cwd="/", env={**kept, **self.environment},
                stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def wait(self) -> None:
        """Wait until it is healthy and has printed its database URL. Raises RigError."""
        until(lambda: self._is_well() or self._is_over(), f"health of {self.region}", START_S)
        if self._is_over():
            raise RigError(f"{self.region} ended:\n{self._log.read_text()}")

    def _is_over(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _is_well(self) -> bool:
        health = self.get("/ojs/v1/health")
        is_well = health is not None and health.get("status") == "ok"
        return is_well and "DATABASE_URL" in self._log.read_text()

    def get(self, path: str) -> dict[str, Any] | None:
        """Return the body of its answer, None without a successful answer."""
        try:
            with DIRECTLY.open(self.url + path, timeout=10) as answer:
                found: dict[str, Any] = orjson.loads(answer.read())
                return found
        except (URLError, OSError, ValueError):
            return None

    def kill(self) -> None:
        """Kill all its processes, the database included."""
        if self._process is None:
            return
        for pid in _family(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> None:
        """End it by SIGTERM."""
        if self._process is None or self._process.poll() is not None:
            return
        self._process.terminate()
        try:
            self._process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.kill()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return rows of its database."""
        found = re.search(r"DATABASE_URL=(\S+)", self._log.read_text())
        if found is None:
            raise RigError(f"{self.region} did not say where its database is")
        with psycopg.connect(found[1].strip("'")) as connection:
            return connection.execute(query.encode()).fetchall()


def _family(pid: int) -> list[int]:
    found = [pid]
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                found += _family(int(child))
    return found


class Rig:
    """The three regions and the proxies between them."""

    def __init__(self, folder: Path, config: Mapping[str, Any] = QUICK) -> None:
        """Define regions and proxies; nothing runs yet."""
        port = _free_port()
        self.servers = {region: Server(region, port, folder / region) for region in HOSTS}
        self.proxies = {
            (source, target): Proxy(HOSTS[target], port)
            for source in HOSTS for target in HOSTS if source != target
        }  # fmt: skip
        key = secrets.token_urlsafe(40)
        for region, server in self.servers.items():
            urls = {
                other: server.url if other == region
                else f"http://127.0.0.1:{self.proxies[region, other].port}"
                for other in HOSTS
            }  # fmt: skip
            server.environment = {
                **region_environment(region, urls, config), "OJS_SECRET_KEY": key,
            }  # fmt: skip

    def start(self) -> None:
        """Start all regions and wait for them."""
        for server in self.servers.values():
            server.start()
        for server in self.servers.values():
            server.wait()

    def stop(self) -> None:
        """End all regions and proxies."""
        for server in self.servers.values():
            server.stop()
        for proxy in self.proxies.values():
            proxy.cut()

    def cut_off(self, region: str) -> None:
        """Cut a region off from the other regions, in both directions."""
        for pair, proxy in self.proxies.items():
            if region in pair:
                proxy.cut()

    def heal(self, region: str) -> None:
        """End the partition."""
        for pair, proxy in self.proxies.items():
            if region in pair:
                proxy.heal()


@contextlib.contextmanager
def running(folder: Path, config: Mapping[str, Any] = QUICK) -> Iterator[Rig]:
    """Run three regions inside the block; PostgreSQL's account must be able to enter `folder`."""
    rig = Rig(folder, config)
    try:
        rig.start()
        yield rig
    finally:
        rig.stop()


def _free_port() -> int:
    """Return a port that is free on all three addresses."""
    while True:
        with contextlib.ExitStack() as stack:
            probe = stack.enter_context(socket.socket())
            probe.bind((HOSTS["us"], 0))
            port = int(probe.getsockname()[1])
            with contextlib.suppress(OSError):
                for host in ("127.0.0.2", "127.0.0.3"):
                    stack.enter_context(socket.socket()).bind((host, port))
                return port


def until(check: Any, what: str, seconds: float) -> None:
    """Wait for a condition. Raises RigError."""
    end = time.monotonic() + seconds
    while not check():
        if time.monotonic() > end:
            raise RigError(f"{what} did not come within {seconds:.0f} s")
        time.sleep(0.05)
