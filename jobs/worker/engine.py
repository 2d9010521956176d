"""One worker process: claims batches, runs them in threads, answers, heartbeats.

Threads: the main one claims; `concurrency` threads run handlers; one acks; one heartbeats and
watches timeouts. A handler that overruns its timeout first gets JobTimeout raised inside it; one
that does not react (a blocking C call) is answered for as timed out, and the whole process is
replaced, because a thread cannot be killed: the others get a moment to finish, what is left is
given back unharmed.
"""

import ctypes
import logging
import os
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from queue import Empty, SimpleQueue
from time import monotonic

from django.db import Error, close_old_connections, connection

from jobs.bounds import Work, for_thread
from jobs.conf import conf
from jobs.domain import retry
from jobs.domain.claim import FetchRequest
from jobs.domain.errors import OJSError
from jobs.domain.job import Job
from jobs.handlers import Context, JobTimeout, declaration, handler_of
from jobs.services.dispatch.fetch import fetch
from jobs.services.dispatch.waiting import Listener, opens_in_s
from jobs.services.outcome.ack import Ack
from jobs.services.outcome.nack import Nack, nack
from jobs.services.workers.heartbeat import Report, Standing, heartbeat
from jobs.services.workers.held import held_by
from jobs.trouble import Attempts
from jobs.worker.acker import Acker
from jobs.worker.execution import execute, failed, timed_out
from jobs.worker.pace import Pace

logger = logging.getLogger("ojs.worker")

MOST_CLAIMED = 200
AHEAD_S = 0.04  # of work to hold when jobs are short; a claim takes a few milliseconds
LAST_BEAT_S = 5.0  # how long the last report waits for one that is under way
BEATS = 6  # heartbeats within the silence after which a worker counts as dead
TICK_S = 0.1  # how often timeouts are looked at
STUCK_S = 1.0  # how long a handler may take to react to JobTimeout
LEAVE_S = 5.0  # how long the others may go on in a process that must be replaced
FIRST_POLL_S, LAST_POLL_S = 0.01, 5.0
RECONNECT_S, LONGEST_RECONNECT_S = 0.5, 4.0
REFUSED_S = 5.0  # after a refused claim, until the next
DRAIN_LOG_S = 5.0  # how often the number of jobs left is logged

CLEAN, UNFINISHED, REPLACE = 0, 1, 75  # exit codes; the parent starts a new process after REPLACE


@dataclass(frozen=True, slots=True)
class Terms:
    """What a worker process runs."""

    worker_id: str
    queues: tuple[str, ...]
    concurrency: int
    pool: str | None = None
    tenant: str | None = None  # it runs this one's jobs alone; null: any's that no namespace keeps
    once: bool = False  # end when nothing is available


@dataclass(slots=True)
class _Running:
    """One attempt in a thread."""

    context: Context
    thread_id: int
    until: float  # monotonic: when its execution time is over
    warned: bool = False
    answered: bool = False


class Engine:
    """A worker process; `run` blocks until it is told to end and returns an exit code."""

    def __init__(self, terms: Terms) -> None:
        """Prepare; nothing runs yet."""
        self.terms = terms
        self._own = Standing.RUNNING  # by signals; only this is reported
        self._told = Standing.RUNNING  # by the server's latest answer
        self._todo: SimpleQueue[Context | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._held: dict[str, Context] = {}  # every job claimed and not yet answered
        self._running: dict[int, _Running] = {}
        self._acker = Acker()
        self._listener = Listener()
        self._opens_in_s = inf  # until a limit that held jobs back opens by itself
        self._wake = threading.Event()
        self._must_leave = threading.Event()
        self._over = threading.Event()
        self._beat_now = threading.Event()
        self._beats = threading.Thread(target=self._beat, name="ojs-beat", daemon=True)
        self._may_have_lost_claims = False
        self._declaration = declaration()
        self._is_known = threading.Event()  # the first heartbeat was stored
        self._ended = 0  # attempts so far
        self._pace = Pace()
        self._claims = Attempts(logger, "claim.failed", RECONNECT_S, LONGEST_RECONNECT_S)
        self._refusal = ""  # why the latest claim that was refused was
        self._window = terms.concurrency * 2  # how many jobs to hold

    # --- the main thread

    def run(self) -> int:
        """Work until told to end, then drain. Returns an exit code."""
        connection.close()  # it was made before
        for_thread(Work.REQUESTS)
        self._acker.start()
        threads = [
            threading.Thread(target=self._work, name=f"ojs-handler-{n}", daemon=True)
            for n in range(self.terms.concurrency)
        ]
        threads += [threading.Thread(target=self._watch, name="ojs-watch", daemon=True)]
        threads += [self._beats]
        for thread in threads:
            thread.start()
        self._claim_until_told()
        return self._drain()

    @property
    def standing(self) -> Standing:
        """What this process may do: the stronger of what it was told here and by the server."""
        return max(self._own, self._told)

    def quiet(self) -> None:
        """Claim nothing more; what runs goes on."""
        self._own = max(self._own, Standing.QUIET)
        self._beat_now.set()

    def resume(self) -> None:
        """Claim again after `quiet`, unless an operator's directive stands."""
        if self._own is Standing.QUIET:
            self._own = Standing.RUNNING
            self._beat_now.set()

    def terminate(self) -> None:
        """Claim nothing more, drain and end."""
        self._own = Standing.TERMINATE
        self._wake.set()
        self._listener.wake()

    def _claim_until_told(self) -> None:
        pause = FIRST_POLL_S
        while self.standing is not Standing.TERMINATE and not self._must_leave.is_set():
            # A worker that never heartbeated is not missed when it dies: its jobs would wait for
            # the end of their leases. So it claims nothing before it is known. Spec: GS-17.
            free = self._free() if self._is_known.is_set() else 0
            if free <= 0 or self.standing is Standing.QUIET:
                self._wake.wait(TICK_S)
                self._wake.clear()
                continue
            seen = self._listener.rounds()
            if self._claim(free):
                pause = FIRST_POLL_S
                continue
            if self.terms.once and not self._held and not self._may_have_lost_claims:
                return
            # An empty claim may have skipped rows that another claim held and then returned, or a
            # lane that a racing one left active without waking anybody: the first looks are quick.
            jitter = 0.75 + random.random() / 2  # noqa: S311 - no secret
            self._listener.wait(seen, min(pause * jitter, self._opens_in_s))
            pause = min(pause * 2, LAST_POLL_S)
            if self._listener.rounds() != seen:
                pause = FIRST_POLL_S

    def _free(self) -> int:
        """How many jobs to claim: two per slot, so that a slot never waits for a claim.

        More when jobs are so short that those are done sooner than the claim.
        """
        with self._lock:
            self._window = max(self.terms.concurrency * 2, self._pace.per(AHEAD_S, self._ended))
            return min(MOST_CLAIMED, self._window - len(self._held)) if self._is_low() else 0

    def _is_low(self) -> bool:
        """Tell whether half of the window is free: small claims cost as much as large ones."""
        return len(self._held) * 2 <= self._window

    def _claim(self, free: int) -> bool:
        request = FetchRequest(
            self.terms.queues,
            count=free,
            worker_id=self.terms.worker_id,
            tenant=self.terms.tenant,
            bound_to=self.terms.tenant,
            pool=self.terms.pool,
            prefetches=True,  # the window bounds it, and only this thread claims
        )
        try:
            close_old_connections()
            self._return_lost_claims()
            claimed = fetch(request)
        except Error as problem:
            self._may_have_lost_claims = True
            connection.close()
            threading.Event().wait(self._claims.failed(problem))
            return False
        except OJSError as refused:  # no queues, or a pool that is not defined yet
            self._rest_after(str(refused))
            return False
        self._claims.went_well()
        self._opens_in_s = opens_in_s(claimed)
        if claimed.directive:
            # perhaps older than a resume that was not reported yet: the next heartbeat decides
            self._obey(Standing(claimed.directive))
            self._beat_now.set()
        self._take(claimed.jobs)
        return bool(claimed.jobs)

    def _take(self, jobs: Sequence[Job]) -> None:
        """Hold claimed jobs. A job that this worker lost and claims again replaces its old attempt.

        The old attempt may still wait or run: what ends it must leave the new one alone.
        """
        contexts = [Context(job, self.terms.worker_id) for job in jobs]
        with self._lock:
            self._held.update({context.job.id: context for context in contexts})
        for context in contexts:
            self._todo.put(context)

    def _rest_after(self, refusal: str) -> None:
        if refusal != self._refusal:
            # one without handlers, queues and a pool is there to run loops: nothing is wrong
            level = logging.WARNING if self.terms.queues or self.terms.pool else logging.INFO
            logger.log(level, "claim.refused", extra={"reason": refusal})
        self._refusal = refusal
        self._wake.wait(REFUSED_S)
        self._wake.clear()

    def _return_lost_claims(self) -> None:
        """Give back what a claim took whose answer never came; its lease would keep it for long.

        The order matters: a job that ends meanwhile is known, or its lease is gone by the flush.
        """
        if not self._may_have_lost_claims:
            return
        with self._lock:
            known = {(job_id, context.attempt) for job_id, context in self._held.items()}
        if not self._acker.flush(RECONNECT_S):
            return
        lost = [item for item in held_by(self.terms.worker_id).items() if item not in known]
        if lost:
            logger.warning("claim.lost", extra={"count": len(lost)})
            nack([self._requeue(job_id, attempt) for job_id, attempt in lost])
        self._may_have_lost_claims = False

    # --- handler threads

    def _work(self) -> None:
        while (context := self._todo.get()) is not None:
            job = context.job
            with self._lock:
                if self._held.get(job.id) is not context:  # given back or claimed again meanwhile
                    continue
                entry = _Running(
                    context, threading.get_ident(), monotonic() + job.timeout_ms / 1000
                )
                self._running[entry.thread_id] = entry
            try:
                self._end(entry, execute(entry.context))
            except JobTimeout:  # it arrived a moment after the handler's end
                self._end(entry, timed_out(context))
        connection.close()

    def _end(self, entry: _Running, outcome: Ack | Nack) -> None:
        """Answer for an attempt; the second answer to one is refused by the server."""
        handler = handler_of(entry.context.job)
        is_late = self._finish(entry)
        if not is_late:
            self._acker.send(outcome, wait=not (handler and handler.idempotent))
        self._forget(entry.context)

    def _finish(self, entry: _Running) -> bool:
        """Leave the table of running attempts; returns whether it was answered already."""
        with self._lock:
            self._running.pop(entry.thread_id, None)
            return entry.answered

    def _forget(self, context: Context) -> None:
        with self._lock:
            if self._held.get(context.job.id) is context:
                del self._held[context.job.id]
            self._ended += 1
            is_low = self._is_low()
        if is_low and not self._wake.is_set():  # whoever clears it looks afterwards
            self._wake.set()

    # --- timeouts

    def _watch(self) -> None:
        while not self._over.wait(TICK_S):
            now = monotonic()
            with self._lock:
                late = [entry for entry in self._running.values() if entry.until <= now]
            for entry in late:
                self._stop_attempt(entry, now)

    def _stop_attempt(self, entry: _Running, now: float) -> None:
        with self._lock:
            if self._running.get(entry.thread_id) is not entry or entry.answered:
                return
            if not entry.warned:
                entry.warned = True
                _raise_in(entry.thread_id)
                return
            if now < entry.until + STUCK_S:
                return
            entry.answered = True
        job = entry.context.job
        logger.error("handler.stuck", extra={"job_id": job.id, "job_type": job.type})
        elapsed_ms = job.timeout_ms + round((now - entry.until) * 1000)
        error = retry.timeout_error(job.timeout_ms, elapsed_ms)
        self._acker.send(failed(entry.context, error), wait=False)
        self._forget(entry.context)
        self._must_leave.set()
        self._wake.set()
        self._listener.wake()

    # --- heartbeats

    def _beat(self) -> None:
        for_thread(Work.REQUESTS)
        attempts = Attempts(logger, "heartbeat.failed", RECONNECT_S, LONGEST_RECONNECT_S)
        interval = conf().worker_silence_ms / 1000 / BEATS
        while not self._over.is_set():
            pause = interval
            try:
                self._send_beat()
                attempts.went_well()
            except Exception as problem:  # whatever it is: who falls silent loses its jobs
                connection.close()
                pause = min(attempts.failed(problem), interval)
            self._beat_now.wait(pause)
            self._beat_now.clear()
        connection.close()

    def _send_beat(self) -> None:
        with self._lock:
            ids = tuple(self._held)
        answer = heartbeat(self._report(ids))
        if not self._is_known.is_set():
            self._is_known.set()
            self._wake.set()
        self._obey(answer.standing)
        for job_id in answer.cancelled:
            with self._lock:
                context = self._held.get(job_id)
            if context:
                context.cancel()

    def _obey(self, told: Standing) -> None:
        """Do what the server says; it says `running` again when an operator resumes a worker."""
        if told is Standing.TERMINATE:
            self.terminate()
        elif told is not self._told:
            self._told = told
            self._wake.set()
            self._listener.wake()

    def _report(self, ids: Sequence[str]) -> Report:
        # while jobs are held a terminating worker only counts as quiet: it still answers for them
        standing = Standing.QUIET if ids and self._own else self._own
        return Report(
            self.terms.worker_id,
            standing,
            active_ids=tuple(ids),
            active_jobs=len(ids),
            hostname=os.uname().nodename,
            pid=os.getpid(),
            queues=self.terms.queues,
            concurrency=self.terms.concurrency,
            pool=self.terms.pool,
            tenant=self.terms.tenant,
            declaration=self._declaration,
        )

    # --- the end

    def _drain(self) -> int:
        """Give back what has not started, let the rest finish, give back what does not."""
        self._beat_now.set()
        self._give_back(self._unstarted())
        grace = LEAVE_S if self._must_leave.is_set() else conf().shutdown_grace_ms / 1000
        until = monotonic() + grace
        tell_at = monotonic()
        while (held := self._held_count()) and monotonic() < until:
            if monotonic() >= tell_at:
                logger.info("worker.draining", extra={"count": held})
                tell_at += DRAIN_LOG_S
            self._wake.wait(TICK_S)
            self._wake.clear()
        with self._lock:
            left = [entry.context.job for entry in self._running.values() if not entry.answered]
            for entry in self._running.values():
                entry.answered = True
        self._give_back(left)
        self._acker.stop(grace)
        self._over.set()
        self._beat_now.set()
        self._beats.join(LAST_BEAT_S)  # a report stored after the last one would revive the worker
        self._say_goodbye()
        for _ in range(self.terms.concurrency):
            self._todo.put(None)
        if self._must_leave.is_set():
            return REPLACE
        return UNFINISHED if left else CLEAN

    def _held_count(self) -> int:
        with self._lock:
            return len(self._held)

    def _unstarted(self) -> list[Job]:
        found: list[Job] = []
        while True:
            try:
                context = self._todo.get_nowait()
            except Empty:
                return found
            if context is not None:
                found.append(context.job)

    def _give_back(self, jobs: Sequence[Job]) -> None:
        if not jobs:
            return
        with self._lock:
            for job in jobs:
                self._held.pop(job.id, None)
        try:
            nack([self._requeue(job.id, job.attempt) for job in jobs])
        except Error as problem:  # the leases return them
            logger.warning("requeue.database", extra={"count": len(jobs), "error": str(problem)})

    def _requeue(self, job_id: str, attempt: int) -> Nack:
        return Nack(job_id, None, requeue=True, worker_id=self.terms.worker_id, attempt=attempt)

    def _say_goodbye(self) -> None:
        self._own = Standing.TERMINATE
        try:
            self._return_lost_claims()
            heartbeat(self._report(()))
        except Error as problem:
            logger.warning("heartbeat.database", extra={"error": str(problem)})
        except OJSError as refused:  # its id is that of another tenant's worker, or in another pool
            logger.warning("heartbeat.refused", extra={"reason": str(refused)})


def _raise_in(thread_id: int) -> None:
    """Raise JobTimeout in a handler thread, at its next Python instruction."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread_id), ctypes.py_object(JobTimeout)
    )
