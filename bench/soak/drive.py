"""Store orders, send their signals, and kill processes meanwhile."""

import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import httpx
import psycopg

from bench.faults.arena import START_S, Arena, children, family, send
from bench.soak.names import AORDER, APPROVED, FOLDER, ORDER, QUEUE, RETRY, SERVER
from jobs.domain.wire.ids import new_id
from ojs_project.quickstart import MANAGE

CONFLICT: Final = 409
PATIENCE_S: Final = 30.0
AGAIN_S: Final = 0.2
LATE_S: Final = 900.0  # after the kills: on a machine that runs other tests as well
BATCH: Final = 10
LOCAL, REMOTE, CONCURRENCY = 2, 1, 8  # workers
# shares of the kinds of kills
KILLS: Final = {"worker": 5, "HTTP process": 3, "loops": 1, "PostgreSQL": 1}


class SoakArena(Arena):
    """The server, workers with a database, and a worker that reaches the server over HTTP."""

    @property
    def environment(self) -> dict[str, str]:
        """The environment variables of all processes."""
        return super().environment | {
            "DJANGO_SETTINGS_MODULE": "bench.soak.settings",
            FOLDER: str(self.folder),
            SERVER: self.url,
        }

    def begin_workers(self) -> None:
        """Start the workers; a killed one is started again."""
        options = ("runworker", "--queues", QUEUE, "--concurrency", str(CONCURRENCY))
        for number in range(LOCAL):
            self.keep(f"worker-{number}", *MANAGE, *options, "--no-loops")
        remote = ("env", "DJANGO_SETTINGS_MODULE=bench.soak.remote", *MANAGE)
        for number in range(REMOTE):
            self.keep(f"worker-{LOCAL + number}", *remote, *options)

    def kill(self, draw: random.Random) -> str:
        """Kill something with SIGKILL; returns its kind."""
        (kind,) = draw.choices(list(KILLS), weights=list(KILLS.values()))
        if kind == "worker":
            _kill(family(self.pid(f"worker-{draw.randrange(LOCAL + REMOTE)}")))
        elif kind == "HTTP process":
            _kill([draw.choice(children(self.pid("http")) or [self.pid("http")])])
        elif kind == "loops":
            _kill(family(self.pid(f"loops-{draw.randrange(2)}")))
        else:
            self._kill_database()
        return kind

    def _kill_database(self) -> None:
        """Kill all processes of PostgreSQL at once, and start it: it recovers from its log."""
        killed = family(self.postmaster())
        _kill(killed)
        while self.cluster.is_running() or any(map(_lives, killed)):
            time.sleep(0.02)
        self.cluster.restart()


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        send(pid, signal.SIGKILL)


def _lives(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as found:  # noqa: PTH123 - a file of the kernel
            return found.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@dataclass
class Drive:
    """The orders of a run, by id, and the numbers of what happened."""

    arena: SoakArena
    jobs: int
    seed: int
    numbers: dict[str, int] = field(default_factory=dict)
    signals: int = 0
    kills: Counter[str] = field(default_factory=Counter)
    problems: list[BaseException] = field(default_factory=list)

    def run(self, seconds: float) -> bool:
        """Run for this time, then until all orders have ended; returns whether they have."""
        until = time.monotonic() + seconds
        driving = [
            threading.Thread(target=self._guarded, args=(work, seconds), daemon=True)
            for work in (self._store, self._signal)
        ]
        for thread in driving:
            thread.start()
        draw = random.Random(self.seed)  # noqa: S311 - a repeatable order
        while time.monotonic() < until:
            time.sleep(draw.uniform(2, 6))
            self.kills[self.arena.kill(draw)] += 1
            self.arena.ready_after(START_S)
        for thread in driving:
            thread.join(LATE_S)
        if any(thread.is_alive() for thread in driving):
            return False
        return not self.problems and self._ended(LATE_S)

    def _guarded(self, work: Any, seconds: float) -> None:
        try:
            work(seconds)
        except BaseException as problem:
            self.problems.append(problem)
            raise

    def _store(self, seconds: float) -> None:
        """Store the orders over four fifths of the time."""
        began = time.monotonic()
        with httpx.Client(base_url=self.arena.url, timeout=PATIENCE_S) as client:
            for begin in range(0, self.jobs, BATCH):
                made = {new_id(): n for n in range(begin, min(begin + BATCH, self.jobs))}
                options = {"queue": QUEUE, "retry": RETRY}
                jobs = [
                    {"id": one, "type": AORDER if n % 2 else ORDER, "args": [n], "options": options}
                    for one, n in made.items()
                ]
                _ask(client, "jobs/batch", {"jobs": jobs})
                self.numbers |= made
                due = began + 0.8 * seconds * (begin + BATCH) / self.jobs
                time.sleep(max(0.0, due - time.monotonic()))

    def _signal(self, seconds: float) -> None:
        """Send each order its signal, some before its wait and some after."""
        draw = random.Random(self.seed + 1)  # noqa: S311 - a repeatable order
        sent: set[str] = set()
        with httpx.Client(base_url=self.arena.url, timeout=PATIENCE_S) as client:
            while len(sent) < self.jobs:
                waiting = [one for one in list(self.numbers) if one not in sent]
                for one in draw.sample(waiting, min(BATCH, len(waiting))):
                    payload = {"number": self.numbers[one]}
                    _ask(client, f"jobs/{one}/signals/{APPROVED}", {"payload": payload})
                    sent.add(one)
                    self.signals += 1
                time.sleep(0.05)

    def _ended(self, seconds: float) -> bool:
        live = "SELECT count(*)::int FROM ojs_job WHERE state IS NULL"
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if self.arena.rows(live)[0][0] == 0:
                    return True
            except psycopg.OperationalError:  # PostgreSQL recovers
                pass
            time.sleep(0.5)
        return False


def _ask(client: httpx.Client, path: str, body: dict[str, Any]) -> None:
    """Send a request until it is answered; 409: a request whose answer was lost did it."""
    while True:
        try:
            answer = client.post(f"/ojs/v1/{path}", json=body)
        except httpx.TransportError:
            time.sleep(AGAIN_S)
            continue
        if answer.is_success or answer.status_code == CONFLICT:
            return
        if answer.is_client_error:
            raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:500]}")
        time.sleep(AGAIN_S)
