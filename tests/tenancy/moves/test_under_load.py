"""A tenant moves while producers send and workers run its jobs, and the move is killed."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Event

import pytest
from django.db import close_old_connections

from jobs.domain.dispatch.claim import FetchRequest
from jobs.domain.wire.ids import new_id
from jobs.models import Move
from jobs.services.dispatch.fetch import fetch
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.outcome.ack import Ack, ack
from tenancy.domain.errors import TenantSuspended
from tests.concurrency import threads
from tests.conftest import ROOT
from tests.factories import DraftFactory, stored_ids
from tests.processes import until
from tests.tenancy.moves.cells import TENANT, Cells

pytestmark = pytest.mark.xdist_group("crash")

BACKLOG = 2_000
WAIT_S = 300  # for a process; a failure may take this long
OF_TENANT = {"meta": {"tenant_id": TENANT}}


@dataclass
class Load:
    """A producer and a worker of the old cell, as threads of this process."""

    accepted: list[str]
    runs: list[str] = field(default_factory=list)
    waits: list[str] = field(default_factory=list)  # Retry-After of refusals
    is_over: Event = field(default_factory=Event)

    def work(self) -> None:
        """Run jobs until the move is over."""
        while not self.is_over.is_set():
            claimed = fetch(FetchRequest(("default",), count=3)).jobs
            self.runs.extend(job.id for job in claimed)
            ack([Ack(job.id) for job in claimed])
            self.is_over.wait(0.005)
        close_old_connections()

    def produce(self) -> None:
        """Send jobs, again after a refusal, until the move is over."""
        draft = DraftFactory.create(id=new_id(), **OF_TENANT)
        while not self.is_over.is_set():
            try:
                enqueue([draft])
            except TenantSuspended as problem:
                self.waits.append(problem.headers["Retry-After"])
            else:
                self.accepted.append(draft.id)
                draft = DraftFactory.create(id=new_id(), **OF_TENANT)
            self.is_over.wait(0.005)
        close_old_connections()


@pytest.fixture
def new_worker(other_url: str) -> Iterator["subprocess.Popen[str]"]:
    """Return a worker of the new cell; it ends with its input."""
    with running(other_url, "-m", "tests.tenancy.moves.worker", stdin=subprocess.PIPE) as process:
        yield process


@pytest.mark.long
def test_a_killed_move_under_load_runs_every_job_once(
    cells: Cells, new_worker: "subprocess.Popen[str]", database_url: str, other_url: str
) -> None:
    load = Load(stored_ids(BACKLOG, queue="new-cell-only", **OF_TENANT))
    command = "manage.py", "ojs", "move-tenant", TENANT, "--to", other_url

    with threads(2) as start:
        both = start(load.work), start(load.produce)
        try:
            for batch in (0, 2):
                with running(database_url, *command):
                    due = Move.objects.filter(batch__gte=batch)
                    until(due.exists, f"batch {batch}", WAIT_S)
            with running(database_url, *command) as last:
                said = last.communicate(timeout=WAIT_S)[1]
        finally:
            load.is_over.set()
        for one in both:
            one.result(WAIT_S)
    assert last.returncode == 0, said
    with cells.other.inside():
        load.accepted += stored_ids(3, **OF_TENANT)
    new_runs = new_worker.communicate(timeout=WAIT_S)[0].split()[1:]

    assert {"5", "60"} >= set(load.waits) > set()
    assert Counter(load.runs + new_runs) == Counter(load.accepted)
    old, new = cells.states()
    assert (set(old), set(new)) == (set(load.runs), set(new_runs))
    assert set(new.values()) == {"completed"}


@contextmanager
def running(
    url: str, *arguments: str, stdin: int = subprocess.DEVNULL
) -> Iterator["subprocess.Popen[str]"]:
    """Run a Python process in the cell of this URL; kill it at the end of the block."""
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=ROOT, env={**os.environ, "DATABASE_URL": url}, text=True,
        stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()
