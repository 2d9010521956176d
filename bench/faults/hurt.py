"""The faults: the effect of each on the server or a worker, and the fate of its jobs."""

import random
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import orjson

from bench.faults.arena import SILENCE_MS, Arena, ArenaError, children, family, send
from bench.faults.load import Client, Load
from bench.names import SLOW
from bench.stack import Process
from ojs_project.quickstart import MANAGE

ANSWER_S: Final = 10.0  # bound of an answer during a fault
READY_S: Final = 15.0  # from the end of a fault until the server reports that it is ready
LOST_LEASE_MS: Final = 2000
BACKLOG: Final = 600  # jobs behind the jobs of a lost worker
CLAIMERS: Final = 3
BATCH: Final = 2
HELD: Final = 3  # jobs of the lost worker
BACK_S: Final = 120.0

# Greatest number of starts of other jobs of the queue between a job's return and its next start.
# Kinds of events: 3 started, 100 returned.
PASSED_BY = """
WITH back AS (
    SELECT e.job_id, min(e.at) AS at FROM ojs_event AS e
     WHERE e.queue = %s AND e.kind = 100 AND e.job_id = ANY (%s::uuid[]) GROUP BY e.job_id
), again AS (
    SELECT b.job_id, b.at,
           (SELECT min(e.at) FROM ojs_event AS e
             WHERE e.job_id = b.job_id AND e.kind = 3 AND e.at >= b.at) AS started_at
      FROM back AS b
)
SELECT coalesce(max((
       SELECT count(*) FROM ojs_event AS e
        WHERE e.queue = %s AND e.kind = 3 AND e.at > a.at AND e.at < a.started_at
          AND e.job_id <> ALL (%s::uuid[]))), 0)::int
  FROM again AS a
"""


class Finding(NamedTuple):
    """One promise of one fault, and the observed result."""

    fault: str
    done: str
    promise: str
    seen: str
    is_kept: bool

    def __str__(self) -> str:
        """Return the line of the table."""
        word = "ok" if self.is_kept else "BROKEN"
        return f"{self.fault:16} {self.done:44} {self.promise:44} {self.seen:>10}  {word}"


HEAD: Final = f"{'fault':16} {'what was done':44} {'promise':44} {'seen':>10}"


@dataclass
class Scene:
    """The objects that a fault uses. Faults that remove a worker set `passed_by`."""

    arena: Arena
    load: Load
    draw: random.Random
    done: str = ""
    passed_by: int | None = None

    def queue(self) -> str:
        """Return the name of a new queue."""
        return f"place-{self.draw.randrange(10**9)}"


def kill_http(scene: Scene) -> None:
    """Kill a process of the HTTP server."""
    victim = scene.draw.choice(children(scene.arena.pid("http")))
    scene.done = "kill -9 of an HTTP process"
    send(victim, signal.SIGKILL)


def kill_loops(scene: Scene) -> None:
    """Kill a process that runs the loops."""
    scene.done = "kill -9 of a runworker with loops"
    for pid in family(scene.arena.pid(f"loops-{scene.draw.randrange(2)}")):
        send(pid, signal.SIGKILL)


def kill_backend(scene: Scene) -> None:
    """End a session of PostgreSQL: orderly, or with SIGKILL, after which PostgreSQL recovers."""
    rows = scene.arena.rows(
        "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'"
        " AND pid <> pg_backend_pid()"
    )
    number = scene.draw.choice([signal.SIGTERM, signal.SIGKILL])
    scene.done = f"{number.name} to a backend of PostgreSQL"
    send(scene.draw.choice(rows)[0], number)


def restart_database(scene: Scene) -> None:
    """Stop PostgreSQL as by a crash and start it."""
    down_s = scene.draw.uniform(0.5, 3)
    scene.done = f"PostgreSQL stopped as by a crash for {down_s:.1f} s"
    scene.arena.cluster.stop(immediately=True)
    time.sleep(down_s)
    scene.arena.cluster.start()


def stall_database(scene: Scene) -> None:
    """Freeze PostgreSQL without closing a socket."""
    stalled_s = scene.draw.uniform(12, 15)
    scene.done = f"SIGSTOP of PostgreSQL for {stalled_s:.1f} s"
    stopped = family(scene.arena.postmaster())
    for pid in stopped:
        send(pid, signal.SIGSTOP)
    try:
        time.sleep(stalled_s)
    finally:
        for pid in stopped:
            send(pid, signal.SIGCONT)


def lose_lease(scene: Scene) -> None:
    """A worker claims jobs and sends no further request."""
    scene.done = "a worker that never heartbeats ends"
    with _backlog(scene) as (queue, client):
        held = client.fetch(queue, "lost", HELD, lease_ms=LOST_LEASE_MS)
        _watch(scene, queue, held)


def lose_worker(scene: Scene) -> None:
    """A worker with heartbeats falls silent, long before its leases end."""
    scene.done = "a worker that heartbeats falls silent"
    with _backlog(scene) as (queue, client):
        name = f"silent-{queue}"
        client.ask("workers/heartbeat", worker_id=name, active_jobs=[])
        held = client.fetch(queue, name, HELD, lease_ms=600_000, beats=True)
        _watch(scene, queue, held)


def drain_worker(scene: Scene) -> None:
    """A worker reports that it is quiet, returns its jobs and ends."""
    scene.done = "a remote worker drains and gives back"
    with _backlog(scene) as (queue, client):
        name = f"drains-{queue}"
        client.ask("workers/heartbeat", worker_id=name, active_jobs=[])
        held = client.fetch(queue, name, HELD, lease_ms=600_000, beats=True)
        client.ask("workers/heartbeat", worker_id=name, state="quiet", active_jobs=held)
        if client.fetch(queue, name, 1):
            scene.load.journal.wrong.append("a quiet worker got a job")
        for job_id in reversed(held):
            client.give_back(job_id, name)
        client.ask("workers/heartbeat", worker_id=name, state="terminate", active_jobs=[])
        _watch(scene, queue, held)


def drain_runworker(scene: Scene) -> None:
    """`runworker` gets SIGTERM while its handlers run for longer than the grace period."""
    scene.done = "SIGTERM to runworker in the middle of jobs"
    _with_runworker(scene, 600, scene.arena.end)


def stop_runworker(scene: Scene) -> None:
    """`runworker` is frozen for longer than the silence, then continues."""
    scene.done = f"SIGSTOP of runworker for {3 * SILENCE_MS / 1000:.0f} s"

    def stop(process: Process) -> None:
        stopped = family(process.pid)
        for pid in stopped:
            send(pid, signal.SIGSTOP)
        time.sleep(3 * SILENCE_MS / 1000)
        for pid in stopped:
            send(pid, signal.SIGCONT)

    _with_runworker(scene, 4, stop)  # handlers end late, and their results are refused


def kill_runworker(scene: Scene) -> None:
    """`runworker` is killed in the middle of its jobs."""
    scene.done = "kill -9 of runworker in the middle of jobs"

    def kill(process: Process) -> None:
        for pid in family(process.pid):
            send(pid, signal.SIGKILL)

    _with_runworker(scene, 600, kill)


def cut_socket(scene: Scene) -> None:
    """The connection of a worker breaks after its FETCH: the answer is lost."""
    scene.done = "a worker's socket is cut after its FETCH"
    with _backlog(scene) as (queue, _):
        body = orjson.dumps(
            {"queues": [queue], "count": HELD, "visibility_timeout_ms": LOST_LEASE_MS}
        )
        head = (
            "POST /ojs/v1/workers/fetch HTTP/1.1\r\nHost: localhost\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        where = urlsplit(scene.arena.url)
        with socket.create_connection((str(where.hostname), int(where.port or 0))) as wire:
            wire.sendall(head.encode() + body)
            _until(lambda: len(_held(scene, queue)) == HELD)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        _watch(scene, queue, _held(scene, queue))


FAULTS: Final[dict[str, Callable[[Scene], None]]] = {
    "http": kill_http,
    "loops": kill_loops,
    "backend": kill_backend,
    "restart": restart_database,
    "stall": stall_database,
    "lease": lose_lease,
    "silence": lose_worker,
    "drain": drain_worker,
    "runworker-term": drain_runworker,
    "runworker-stop": stop_runworker,
    "runworker-kill": kill_runworker,
    "socket": cut_socket,
}


def hurt(name: str, arena: Arena, load: Load, draw: random.Random) -> list[Finding]:
    """Inject one fault into the server under load; return the findings about its promises."""
    scene = Scene(arena, load, draw)
    journal = load.journal
    journal.window()
    doubled, wrong = len(journal.doubled), len(journal.wrong)
    FAULTS[name](scene)
    ready_s = arena.ready_after(4 * READY_S)
    time.sleep(1.0)
    worst_s, refused = journal.window()
    stored = set(journal.stored)
    missing = stored - _stored(arena, stored)

    def found(promise: str, seen: str, *, is_kept: bool) -> Finding:
        return Finding(name, scene.done, promise, seen, is_kept)

    findings = [
        found("jobs lost: 0", str(len(missing)), is_kept=not missing),
        found("handed out twice in a live lease: 0", str(len(journal.doubled) - doubled),
              is_kept=len(journal.doubled) == doubled),
        found(f"answers within {ANSWER_S:.0f} s", f"{worst_s:.1f} s", is_kept=worst_s <= ANSWER_S),
        found("answers: success, 409, or 503 with Retry-After",
              f"{len(journal.wrong) - wrong} of {refused}", is_kept=len(journal.wrong) == wrong),
        found(f"ready again within {READY_S:.0f} s", f"{ready_s:.1f} s",
              is_kept=ready_s <= READY_S),
    ]  # fmt: skip
    if scene.passed_by is not None:
        most = CLAIMERS * BATCH
        findings.append(
            found(f"place kept: at most {most} jobs (in flight) before", str(scene.passed_by),
                  is_kept=scene.passed_by <= most)
        )  # fmt: skip
    return findings


def _stored(arena: Arena, ids: set[str]) -> set[str]:
    rows = arena.rows("SELECT id::text FROM ojs_job WHERE id = ANY (%s::uuid[])", list(ids))
    return {row[0] for row in rows}


@contextmanager
def _backlog(scene: Scene) -> Iterator[tuple[str, Client]]:
    """Store a queue of jobs for a worker that will be lost; finally other workers drain it."""
    client, queue = scene.load.client(), scene.queue()
    client.enqueue(queue, HELD + BACKLOG)
    yield queue, client


def _watch(
    scene: Scene, queue: str, held: list[str], lose: Callable[[], None] | None = None
) -> None:
    """Let other workers claim until the held jobs have run again; count jobs that passed them."""
    over = threading.Event()

    def claim(number: int) -> None:
        client, name = scene.load.client(), f"claims-{number}"
        while not over.wait(0.15):
            for job_id in client.fetch(queue, name, BATCH):
                client.ack(job_id, name)

    claimers = [scene.load.start(claim, number) for number in range(CLAIMERS)]
    try:
        if lose:
            lose()
        _until(lambda: _ended(scene, held) == len(held))
        scene.passed_by = scene.arena.rows(PASSED_BY, queue, held, queue, held)[0][0]
    finally:
        over.set()
        for claimer in claimers:
            claimer.join()
        _drain(scene, queue)


def _ended(scene: Scene, ids: list[str]) -> int:
    done = "SELECT count(*)::int FROM ojs_job WHERE state IS NOT NULL AND id = ANY (%s::uuid[])"
    return int(scene.arena.rows(done, ids)[0][0])


def _drain(scene: Scene, queue: str) -> None:
    client = scene.load.client()
    while ids := client.fetch(queue, "drains", 50):
        for job_id in ids:
            client.ack(job_id, "drains")


def _held(scene: Scene, queue: str) -> list[str]:
    rows = scene.arena.rows(
        "SELECT l.id::text FROM ojs_lease AS l JOIN ojs_job AS j ON j.id = l.id WHERE j.queue = %s"
        " ORDER BY l.id",
        queue,
    )
    return [row[0] for row in rows]


def _with_runworker(scene: Scene, seconds: int, lose: Callable[[Process], None]) -> None:
    """Let `runworker` hold slow jobs, lose it, and let other workers continue its queue."""
    client, queue = scene.load.client(), scene.queue()
    client.enqueue(queue, BACKLOG, SLOW, seconds=seconds)
    process = scene.arena.begin(
        *MANAGE, "runworker", "--no-loops", "--queues", queue, "--processes", "1",
        "--concurrency", str(HELD),
    )  # fmt: skip
    try:
        _until(lambda: len(_held(scene, queue)) >= HELD)
        held: list[str] = []
        while held != (held := _held(scene, queue)):  # it claims more jobs than it runs
            time.sleep(0.5)
        _watch(scene, queue, held, lambda: lose(process))
    finally:
        scene.arena.end(process)
        _finish(scene, queue)


def _finish(scene: Scene, queue: str) -> None:
    """Complete the jobs that an ended worker left: no other worker fetches from its queue."""
    live = "SELECT count(*)::int FROM ojs_job WHERE state IS NULL AND queue = %s"

    def is_done() -> bool:
        _drain(scene, queue)
        return int(scene.arena.rows(live, queue)[0][0]) == 0

    _until(is_done)


def _until(check: Callable[[], bool]) -> None:
    end = time.monotonic() + BACK_S
    while not check():
        if time.monotonic() > end:
            raise ArenaError("what should follow a fault did not happen")
        time.sleep(0.05)
