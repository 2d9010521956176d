"""The programs of a drill: where they are, and processes that end with the drill."""

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench.faults.arena import family, send
from ojs_project.postgres import ACCOUNT, bin_dir, check_reachable
from ojs_project.quickstart import ROOT
from ojs_tasks.worker.tether import tied

TOOLS: Final = ROOT / ".drill-tools"  # of `bench/drills/tools.sh`
UNPACKED: Final = TOOLS / "root"  # packages that the system lacks
SYSTEM_PATH: Final = os.pathsep.join(
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
     f"{UNPACKED}/usr/sbin", f"{UNPACKED}/usr/bin"]
)  # fmt: skip
END_S: Final = 30.0
PACKAGES: Final = {"etcd": "etcd-server", "haproxy": "haproxy", "pgbouncer": "pgbouncer"}

Process = subprocess.Popen[bytes]


class DrillError(Exception):
    """The drill cannot go on: something did not recover."""


def find(program: str) -> str:
    """Return the path of a program. Raises DrillError with the package that has it."""
    found = shutil.which(program, path=SYSTEM_PATH)
    if found is None:
        raise DrillError(f"{program} is missing: apt-get install {PACKAGES[program]}")
    return found


def postgres_folder() -> Path:
    """Return the folder of the newest PostgreSQL of the system, else of the embedded one."""
    found = Path("/usr/lib/postgresql").glob("*/bin/postgres")
    newest = max(found, key=lambda path: int(path.parts[-3]), default=None)
    return newest.parent if newest else bin_dir()


def missing_program() -> str:
    """Return which program is missing, with its package; empty: none."""
    for program in PACKAGES:
        try:
            find(program)
        except DrillError as problem:
            return str(problem)
    return ""


def check_programs() -> None:
    """Raise DrillError without a program, FolderError where the account cannot reach them."""
    if missing := missing_program():
        raise DrillError(missing)
    if found := account():
        check_reachable(found, postgres_folder(), TOOLS / "packages")


def account() -> "pwd.struct_passwd | None":
    """Return the account of PostgreSQL, which refuses root; None: that of this process."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        made = subprocess.run(
            ["/usr/sbin/useradd", "--system", "--no-create-home", ACCOUNT], check=False
        )
        return pwd.getpwnam(ACCOUNT if made.returncode == 0 else "nobody")


def as_account() -> dict[str, Any]:
    """Return the arguments of `subprocess` for a process of this account."""
    found = account()
    return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []} if found else {}


def owned(folder: Path) -> Path:
    """Make a folder that belongs to the account of PostgreSQL."""
    folder.mkdir(mode=0o700)
    if found := account():
        os.chown(folder, found.pw_uid, found.pw_gid)
    return folder


def wait_for(what: str, is_done: Callable[[], bool], bound_s: float) -> float:
    """Wait for a condition; return the seconds. Raises DrillError after `bound_s`."""
    begin = time.monotonic()
    while (passed := time.monotonic() - begin) < bound_s:
        if is_done():
            return passed
        time.sleep(0.1)
    raise DrillError(f"no {what} within {bound_s:.0f} s")


@dataclass
class Programs:
    """The processes of a drill, which `stop` ends in reverse order. Each has a log file."""

    folder: Path
    _running: list[Process] = field(default_factory=list)

    def begin(
        self, name: str, command: Sequence[str], environment: Mapping[str, str] | None = None,
        *, under_account: bool = False, cwd: Path | str = "/",
    ) -> Process:  # fmt: skip
        """Start a process; call from the main thread, whose end ends the process."""
        user = as_account() if under_account else {}
        libraries = UNPACKED.glob("**/lib/*-linux-gnu")
        plain = {
            "PATH": SYSTEM_PATH, "LANG": "C.UTF-8", "HOME": str(self.folder),
            "LD_LIBRARY_PATH": os.pathsep.join(map(str, libraries)),
        }  # fmt: skip
        with (self.folder / f"{name}.log").open("ab") as log:
            process = subprocess.Popen(
                command, env=dict(environment or plain), cwd=cwd, stdin=subprocess.DEVNULL,
                stdout=log, stderr=log, start_new_session=True,
                preexec_fn=tied(),  # noqa: PLW1509 - nothing but a system call
                **user,
            )  # fmt: skip
        self._running.append(process)
        return process

    def end(self, process: Process, bound_s: float = END_S) -> None:
        """Signal a process to end, and wait for its end; then kill its descendants."""
        members = births(family(process.pid))
        signal_all([*members], signal.SIGCONT)
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(bound_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        left = {*births([*members]).items()} & {*members.items()}
        signal_all([pid for pid, _ in left], signal.SIGKILL)
        if process in self._running:
            self._running.remove(process)

    def stop(self) -> None:
        """End all processes, the last started first."""
        while self._running:
            self.end(self._running[-1])


def births(pids: Sequence[int]) -> dict[int, str]:
    """Return when each of these processes began: a later process may have the same id."""
    found = {}
    for pid in pids:
        with contextlib.suppress(OSError):
            found[pid] = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return found


def signal_all(pids: Sequence[int], number: signal.Signals) -> None:
    """Send a signal to processes that may have ended."""
    for pid in pids:
        send(pid, number)
