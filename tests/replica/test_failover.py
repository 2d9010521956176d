"""Several hosts in DATABASE_URL: a process never uses a primary that a failover has replaced."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import quote

import httpx
import psycopg
import pytest
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from pytest_django import DjangoDbBlocker

from bench.faults.arena import family, send
from jobs.repeat import refusal
from ojs_project import env
from ojs_project.database import guard, primary
from ojs_project.postgres import Cluster
from tests.concurrency import threads
from tests.processes import DEADLINE_S, until
from tests.replica.conftest import Pair, Site, ask, promote

pytestmark = pytest.mark.xdist_group("replica")
Serve = Callable[..., Site]


def url_of(*clusters: Cluster) -> str:
    """Return the URL that names these servers in this order."""
    places = ",".join(quote(str(one.sockets), safe="") for one in clusters)
    return f"postgresql://postgres@/postgres?host={places}&target_session_attrs=read-write"


@pytest.fixture
def hosts(pair: Pair, django_db_blocker: DjangoDbBlocker) -> Iterator[BaseDatabaseWrapper]:
    """Return a connection of the engine to a database with two hosts; the primary is the first."""
    connections.settings["hosts"] = {
        **connections.settings["default"], **env.database(url_of(pair.main, pair.standby))
    }  # fmt: skip
    with django_db_blocker.unblock():
        yield connections["hosts"]
        connections["hosts"].close()
    del connections["hosts"], connections.settings["hosts"]
    guard._newest.clear()
    primary._last.clear()


def where(wrapper: BaseDatabaseWrapper) -> str:
    """Return the folder of the sockets of the server that answers."""
    with wrapper.cursor() as cursor:
        cursor.execute("SHOW unix_socket_directories")
        return str(cursor.fetchone()[0])


@contextmanager
def frozen(cluster: Cluster) -> Iterator[None]:
    """Freeze a server for the block, as a machine that hangs."""
    processes = family(int((cluster.data / "postmaster.pid").read_text().split()[0]))
    for pid in processes:
        send(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in processes:
            send(pid, signal.SIGCONT)


def another(wrapper: BaseDatabaseWrapper) -> BaseDatabaseWrapper:
    """Return a further connection of the same process."""
    return connections.create_connection(wrapper.alias)


def test_a_replaced_primary_is_left_and_not_chosen_again(
    pair: Pair, hosts: BaseDatabaseWrapper
) -> None:
    assert where(hosts) == str(pair.main.sockets)
    pair.main.stop(immediately=True)
    promote(pair.standby)
    hosts.close()
    assert where(hosts) == str(pair.standby.sockets)

    pair.main.start()  # it has not joined the cluster: it accepts writes
    hosts.close()

    assert not ask(pair.main, "SELECT pg_is_in_recovery()")
    assert where(hosts) == str(pair.standby.sockets)
    pair.standby.stop(immediately=True)
    hosts.close()
    with pytest.raises(OperationalError, match="a failover has replaced this primary") as refused:
        hosts.ensure_connection()
    found = refusal(refused.value)
    assert found is not None
    assert found.is_undone


def test_a_new_process_chooses_the_newest_timeline(pair: Pair, hosts: BaseDatabaseWrapper) -> None:
    promote(pair.standby)

    assert where(hosts) == str(pair.standby.sockets)


def test_a_connection_to_a_replaced_primary_counts_as_lost(
    pair: Pair, hosts: BaseDatabaseWrapper
) -> None:
    assert where(hosts) == str(pair.main.sockets)
    promote(pair.standby)
    primary._last.clear()  # the next connection asks all hosts
    other = another(hosts)
    assert where(other) == str(pair.standby.sockets)
    other.close()

    with pytest.raises(OperationalError, match="a failover has replaced this primary") as refused:
        where(hosts)

    found = refusal(refused.value)
    assert found is not None
    assert found.is_undone
    hosts.close_if_unusable_or_obsolete()
    assert where(hosts) == str(pair.standby.sockets)


def test_a_statement_without_a_bound_leaves_a_frozen_primary_that_was_replaced(
    pair: Pair, hosts: BaseDatabaseWrapper
) -> None:
    """A statement of a loop may take minutes; the frozen server acknowledges its bytes."""
    assert where(hosts) == str(pair.main.sockets)
    hosts.connection.bind(guard.Outage(), None)

    with threads(1) as start, frozen(pair.main):
        waiting = start(lambda: hosts.connection.execute("SELECT 1"))
        promote(pair.standby)
        with pytest.raises(psycopg.OperationalError, match="did not answer in time"):
            waiting.result(DEADLINE_S)
        hosts.close()
        assert where(hosts) == str(pair.standby.sockets)


@pytest.mark.long
def test_one_host_is_connected_as_before(pair: Pair, hosts: BaseDatabaseWrapper) -> None:
    hosts.settings_dict["HOST"] = str(pair.main.sockets)

    assert where(hosts) == str(pair.main.sockets)
    assert hosts.connection.timeline == 0


@pytest.mark.long  # `make drill-failover-quick` does the same with two servers
def test_a_server_leaves_a_primary_that_froze_and_returned(pair: Pair, serve: Serve) -> None:
    site = serve(
        DATABASE_URL=url_of(pair.main, pair.standby), OJS_REPLICA_DATABASE_URL="",
        OJS_STATEMENT_TIMEOUT_MS="1000",
    )  # fmt: skip
    before = site.enqueue()
    pair.catch_up()
    with frozen(pair.main):
        promote(pair.standby)
        until(lambda: is_accepted(site.client), "the first enqueue of the new primary")

    after = [site.enqueue() for _ in range(20)]

    assert jobs_of(pair.standby).issuperset({before, *after})
    assert jobs_of(pair.main).isdisjoint(after)


def is_accepted(client: httpx.Client) -> bool:
    """Return whether an enqueue succeeds; a failure is a 503."""
    with suppress(httpx.TransportError):
        answer = client.post("/ojs/v1/jobs", json={"type": "mail.send", "args": []})
        assert answer.status_code in {201, 503}, answer.text
        return answer.status_code == 201
    return False


def jobs_of(cluster: Cluster) -> set[str]:
    """Return the ids of the jobs of a server."""
    with psycopg.connect(cluster.url) as connection:
        return {row[0] for row in connection.execute("SELECT id::text FROM ojs_job").fetchall()}
