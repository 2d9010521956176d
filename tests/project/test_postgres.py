"""The embedded PostgreSQL."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from jobs.domain import extras
from ojs_project import postgres
from ojs_project.folder import FolderError
from ojs_project.postgres import Cluster, ClusterError
from tests.conftest import ROOT
from tests.processes import DEADLINE_S, is_alive, until

SMALL = {"shared_buffers": "16MB", "fsync": "off", "max_connections": "20"}


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a new folder that root's PostgreSQL account can enter."""
    parent = Path(tempfile.mkdtemp(prefix="ojs-cluster-"))
    parent.chmod(0o711)
    yield parent / "d"
    shutil.rmtree(parent)


def ask(cluster: Cluster, statement: str) -> object:
    """Run one statement and return its first value."""
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def test_data_and_settings_are_there_after_a_restart(folder: Path) -> None:
    with Cluster(folder, SMALL) as first:
        ask(first, "CREATE TABLE kept AS SELECT 7 AS n")

    with Cluster(folder, SMALL) as second:
        assert ask(second, "SELECT n FROM kept") == 7
        assert ask(second, "SHOW shared_buffers") == "16MB"
        assert ask(second, "SHOW timezone") == "UTC"
        assert ask(second, "SHOW listen_addresses") == ""


def test_stop_leaves_no_process_socket_or_lock(folder: Path) -> None:
    cluster = Cluster(folder, SMALL).start()
    pid = int((cluster.data / "postmaster.pid").read_text().split()[0])

    cluster.stop()

    assert not is_alive(pid)
    assert not cluster.is_running()
    assert not cluster.sockets.exists()
    cluster.stop()  # a second stop is harmless
    Cluster(folder, SMALL).start().stop()


def test_an_immediate_stop_loses_nothing_that_was_committed(folder: Path) -> None:
    with Cluster(folder, {**SMALL, "fsync": "on"}) as cluster:
        ask(cluster, "CREATE TABLE kept AS SELECT 7 AS n")
        cluster.stop(immediately=True)
        cluster.start()

        assert ask(cluster, "SELECT n FROM kept") == 7


def test_a_killed_server_is_restarted(folder: Path) -> None:
    with Cluster(folder, SMALL) as cluster:
        ask(cluster, "CREATE TABLE kept AS SELECT 7 AS n")
        os.kill(int((cluster.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        until(lambda: not cluster.is_running())

        until(lambda: restarts(cluster))

        assert ask(cluster, "SELECT n FROM kept") == 7


def restarts(cluster: Cluster) -> bool:
    """Try a restart; a restart is refused while processes of the old server are left."""
    try:
        cluster.restart()
    except ClusterError:
        return False
    return True


def test_a_second_cluster_on_the_same_folder_is_refused(folder: Path) -> None:
    with (
        Cluster(folder, SMALL) as cluster,
        pytest.raises(FolderError, match="is in use by another instance"),
    ):
        Cluster(folder, SMALL).start()
    assert not cluster.is_running()


OWNER = """
import sys
from pathlib import Path
from ojs_project.postgres import Cluster
cluster = Cluster(Path(sys.argv[1]), {"shared_buffers": "16MB"}).start()
print("started", flush=True)
sys.stdin.read()
"""


def test_the_server_of_a_killed_owner_ends_before_another_may_start(folder: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert owner.stdout is not None
    assert owner.stdout.readline() == b"started\n"
    pid = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])

    owner.kill()
    owner.communicate(timeout=DEADLINE_S)
    with Cluster(folder, SMALL) as cluster:
        assert not is_alive(pid)
        assert ask(cluster, "SELECT 1") == 1


@pytest.mark.parametrize("name", ["postgres", "notes.txt"])
def test_a_folder_with_something_else_is_refused_and_left_alone(folder: Path, name: str) -> None:
    folder.mkdir()
    (folder / name).touch()

    with pytest.raises(FolderError, match="holds other files"):
        Cluster(folder, SMALL).start()

    assert [path.name for path in folder.iterdir()] == [name]


def test_a_folder_that_cannot_be_made_is_one_line(folder: Path) -> None:
    folder.touch()

    with pytest.raises(FolderError, match=f"^cannot use {folder}/d: "):
        Cluster(folder / "d", SMALL).start()


def test_an_interrupted_initdb_is_repeated(folder: Path) -> None:
    (folder / "postgres.new").mkdir(parents=True)
    (folder / "postgres.new" / "PG_VERSION").write_text("18\n")
    (folder / "ojs-cluster").touch()

    with Cluster(folder, SMALL) as cluster:
        assert ask(cluster, "SELECT 1") == 1
    assert not (folder / "postgres.new").exists()


def test_a_server_that_cannot_start_says_why(folder: Path) -> None:
    cluster = Cluster(folder, {"shared_buffers": "nonsense"})

    with pytest.raises(ClusterError, match=r"PostgreSQL did not start: .*shared_buffers"):
        cluster.start()

    assert not cluster.is_running()
    Cluster(folder, SMALL).start().stop()  # the folder is free


def test_a_stale_process_id_does_not_keep_the_server_from_starting(folder: Path) -> None:
    with Cluster(folder, SMALL) as cluster:
        pidfile = (cluster.data / "postmaster.pid").read_text()
    lines = pidfile.splitlines(keepends=True)
    (folder / "postgres" / "postmaster.pid").write_text("".join([f"{os.getpid()}\n", *lines[1:]]))

    with Cluster(folder, SMALL) as cluster:
        assert ask(cluster, "SELECT 1") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes the account")
def test_a_folder_that_the_account_cannot_enter_names_the_obstacle(folder: Path) -> None:
    closed = folder / "closed"
    closed.mkdir(parents=True)
    closed.chmod(0o700)

    with pytest.raises(ClusterError, match=f"cannot enter {closed}: .*chmod o.x"):
        Cluster(closed / "d", SMALL).start()


def test_the_wheel_is_named_when_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (postgres, extras):
        monkeypatch.setattr(module, "find_spec", lambda name: None)

    with pytest.raises(ClusterError, match=r"ojs-django\[embedded\]\", or set DATABASE_URL"):
        postgres.bin_dir()
