"""A PostgreSQL with a hot standby, and servers that read from it."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psycopg
import pytest

from ojs_project.folder import MARKER
from ojs_project.postgres import Cluster, bin_dir
from tests.conftest import ROOT, free_port, http_server
from tests.processes import DEADLINE_S, kill_family, until

SMALL = {"shared_buffers": "32MB", "max_connections": "60", "fsync": "off"}
LIST, CURRENT = "/ojs/v1/admin/jobs", {"Cache-Control": "no-cache"}
LAG = "x-ojs-replica-lag-ms"
WORD = "for-this-test"


def ask(cluster: Cluster, statement: LiteralString) -> Any:
    """Run one statement, and return its first value."""
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        found = connection.execute(statement)
        row = found.fetchone() if found.description else None
        return row[0] if row else None


@dataclass
class Pair:
    """The database and its standby."""

    main: Cluster
    standby: Cluster

    def catch_up(self) -> None:
        """Wait until the standby has replayed all commits, of which there is at least one."""
        ask(self.main, "SELECT pg_current_xact_id()")  # the lag is unknown without a commit
        written = ask(self.main, "SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn")
        until(
            lambda: ask(self.standby, "SELECT pg_last_wal_replay_lsn() - '0/0'::pg_lsn") >= written,
            "the replay",
        )


def promote(standby: Cluster) -> None:
    """Make a standby a primary. The call does not wait: the replay might cancel it."""
    ask(standby, "SELECT pg_promote(wait => false)")
    until(lambda: not ask(standby, "SELECT pg_is_in_recovery()"), "the promotion")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return an empty folder, which the account of PostgreSQL may enter."""
    yield from _folder()


@pytest.fixture(scope="session")
def migrated() -> Iterator[Path]:
    """Return the folder of a cluster that has the server's tables and does not run."""
    for made in _folder():
        with Cluster(made / "main", SMALL) as main:
            manage(main, "migrate", "--verbosity", "0")
        yield made / "main"


def _folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(prefix="ojs-replica-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def pair(migrated: Path, folder: Path) -> Iterator[Pair]:
    """Return a database with the server's tables, and its standby."""
    subprocess.run(["/bin/cp", "-a", migrated, folder / "main"], check=True)
    with (
        Cluster(folder / "main", SMALL) as main,
        Cluster(copied(main, folder / "standby"), SMALL) as standby,
    ):
        yield Pair(main, standby)


def copied(main: Cluster, folder: Path) -> Path:
    """Copy a running cluster as a standby that follows it."""
    folder.mkdir()
    (folder / MARKER).touch()
    account = main.data.stat()
    os.chown(folder, account.st_uid, account.st_gid)
    subprocess.run(
        [bin_dir() / "pg_basebackup", "-h", main.sockets, "-U", "postgres", "-D",
         folder / "postgres", "--write-recovery-conf", "--checkpoint=fast", "--no-sync"],
        check=True, cwd="/", user=account.st_uid, group=account.st_gid, extra_groups=[],
    )  # fmt: skip
    return folder


def manage(main: Cluster, *arguments: str, **environment: str) -> None:
    """Run a command of manage.py on the database."""
    subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT, env={**os.environ, "DATABASE_URL": main.url, **environment}, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip


class Site:
    """A client of one server."""

    def __init__(self, url: str) -> None:
        """Talk to the server at this URL."""
        self.client = httpx.Client(base_url=url, timeout=DEADLINE_S)

    def is_alive(self) -> bool:
        """Return whether the server answers."""
        try:
            return self.client.get("/livez").status_code == 200
        except httpx.TransportError:
            return False

    def enqueue(self) -> str:
        """Enqueue a job; return its id."""
        made = self.client.post("/ojs/v1/jobs", json={"type": "mail.send", "args": []})
        return str(made.raise_for_status().json()["job"]["id"])

    def listed(self, **headers: str) -> tuple[list[str], str | None]:
        """Return the ids in the list of jobs, and the lag of the replica that served it."""
        answer = self.client.get(LIST, headers=headers).raise_for_status()
        return [job["id"] for job in answer.json()["jobs"]], answer.headers.get(LAG)

    def reads(self) -> str:
        """Read a list, which looks at the standby, and return the metrics of reads by outcome."""
        self.listed()
        return self.client.get("/metrics").text

    def log_in(self) -> None:
        """Log in to the console as root."""
        self.client.get("/console/login/")
        token = self.client.cookies["csrftoken"]
        entered = self.client.post(
            "/console/login/",
            data={"username": "root", "password": WORD, "csrfmiddlewaretoken": token},
            headers={"Referer": str(self.client.base_url)},
        )
        assert entered.status_code == 302


@pytest.fixture
def serve(pair: Pair) -> Iterator[Any]:
    """Return a function that starts a server of the pair, and returns its client."""
    started: list[subprocess.Popen[bytes]] = []
    sites: list[Site] = []

    def start(**environment: str) -> Site:
        port = free_port()
        environment.setdefault("DATABASE_URL", pair.main.url)
        environment.setdefault("OJS_REPLICA_DATABASE_URL", pair.standby.url)
        started.append(
            subprocess.Popen(
                [sys.executable, *http_server(port)],
                cwd=ROOT,
                start_new_session=True,
                env={
                    **os.environ,
                    "OJS_AUTH": "off",
                    "OJS_ALLOW_INSECURE": "true",
                    **environment,
                },
            )
        )
        sites.append(Site(f"http://127.0.0.1:{port}"))
        until(sites[-1].is_alive, "the first answer")
        return sites[-1]

    yield start
    for site in sites:
        site.client.close()
    for process in started:
        kill_family(process.pid)
        process.wait()


@pytest.fixture
def console(pair: Pair, serve: Callable[..., Site]) -> Site:
    """Return a client that is logged in to the console."""
    manage(
        pair.main, "createsuperuser", "--noinput", "--username=root", "--email=root@example.org",
        DJANGO_SUPERUSER_PASSWORD=WORD,
    )  # fmt: skip
    site = serve()
    site.log_in()
    return site
