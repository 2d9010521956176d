"""A durable cluster (fsync on) that a test may stop, and processes on it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest

from ojs_project.postgres import Cluster
from tests.conftest import ROOT, free_port, http_server
from tests.processes import DEADLINE_S, kill_family

Run = Callable[..., subprocess.Popen[bytes]]

ONE_PLACE = """
SELECT j.id::text, j.state, count(n.id) FROM ojs_job AS j
  LEFT JOIN (SELECT id FROM ojs_ready UNION ALL SELECT id FROM ojs_lease UNION ALL
             SELECT id FROM ojs_later UNION ALL SELECT id FROM ojs_finished) AS n USING (id)
 GROUP BY j.id HAVING count(n.id) <> 1
"""


class Store:
    """Direct access to the database, without the server."""

    def __init__(self, url: str) -> None:
        """Use the database of this URL."""
        self.url = url

    def rows(self, statement: LiteralString, *values: object) -> list[tuple[object, ...]]:
        """Run one statement and return its rows."""
        with psycopg.connect(self.url) as connection:
            return connection.execute(statement, values or None).fetchall()

    def jobs(self, state: int | None = None) -> set[str]:
        """Return the ids of all jobs, or of the jobs in one final state."""
        chosen = "SELECT id FROM ojs_job WHERE %s::int IS NULL OR state = %s"
        rows = self.rows(chosen, state, state)
        return {str(row[0]) for row in rows}

    def misplaced(self) -> list[tuple[object, ...]]:
        """Return jobs that have no state row, or two."""
        return self.rows(ONE_PLACE)


@pytest.fixture
def processes() -> Iterator[Run]:
    """Return a function that starts a Python process on a database of its own."""
    started: list[subprocess.Popen[bytes]] = []

    def start(url: str, *arguments: str, **environment: str) -> subprocess.Popen[bytes]:
        started.append(
            subprocess.Popen(
                [sys.executable, *arguments],
                cwd=ROOT,
                env={**os.environ, "DATABASE_URL": url, **environment},
                start_new_session=True,
            )
        )
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
    for process in started:
        try:
            process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            kill_family(process.pid)
            process.wait()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    """Return a new durable cluster with the server's tables."""
    folder = Path(tempfile.mkdtemp(prefix="ojs-crash-"))
    folder.chmod(0o711)
    with Cluster(folder / "cluster", {"fsync": "on", "shared_buffers": "64MB"}) as made:
        subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity", "0"],
            cwd=ROOT, env={**os.environ, "DATABASE_URL": made.url}, check=True,
        )  # fmt: skip
        yield made
    shutil.rmtree(folder)


def serve(
    processes: Run, url: str, port: int | None = None, **environment: str
) -> tuple[str, subprocess.Popen[bytes]]:
    """Start an HTTP server with two processes; return its URL and the parent."""
    port = port or free_port()
    process = processes(url, *http_server(port, workers=2), **environment)
    return f"http://127.0.0.1:{port}", process
