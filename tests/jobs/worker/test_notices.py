"""The wait for new jobs on the connection that claims."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection, connections

from jobs.worker.notices import Notices
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.usefixtures("store")

AT_ONCE = 0.0  # only what has arrived


@pytest.fixture
def notices() -> Iterator[Notices]:
    """Return notices on a connection that listens and ends with the test."""
    made = Notices()
    made.listen()
    yield made
    connection.close()


def elsewhere(statement: str) -> None:
    """Run a statement in a session of its own."""

    def run() -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement)
        connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(run).result()


def session() -> int:
    """Return the process id of this thread's session."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def test_a_notification_ends_the_wait(notices: Notices) -> None:
    elsewhere("NOTIFY ojs_ready")

    assert notices.wait(DEADLINE_S)


def test_without_a_notification_the_wait_takes_its_time(notices: Notices) -> None:
    assert not notices.wait(AT_ONCE)


def test_a_notification_from_before_the_claim_is_forgotten(notices: Notices) -> None:
    elsewhere("NOTIFY ojs_ready")
    assert notices.wait(DEADLINE_S)

    notices.listen()

    assert not notices.wait(AT_ONCE)


def test_a_notification_during_the_claim_ends_the_wait(notices: Notices) -> None:
    with connection.cursor() as cursor:  # psycopg reads it with the answer
        cursor.execute("NOTIFY ojs_ready")

    assert notices.wait(AT_ONCE)


def test_another_channel_does_not_reach_it(notices: Notices) -> None:
    with connection.cursor() as cursor:
        cursor.execute("NOTIFY another")

    assert not notices.wait(AT_ONCE)


@pytest.mark.parametrize("is_before", [True, False], ids=["before", "during"])
def test_any_thread_ends_the_wait(notices: Notices, is_before: bool) -> None:
    if is_before:
        notices.wake()
    else:
        threading.Thread(target=notices.wake).start()

    assert notices.wait(DEADLINE_S)
    assert not notices.wait(AT_ONCE)


def test_many_wakes_end_one_wait(notices: Notices) -> None:
    for _ in range(70_000):  # more than a pipe holds
        notices.wake()

    assert notices.wait(AT_ONCE)


def test_a_lost_connection_ends_the_wait_and_is_made_anew(notices: Notices) -> None:
    lost = session()
    elsewhere(f"SELECT pg_terminate_backend({lost}, 10000)")
    assert notices.wait(DEADLINE_S)

    notices.listen()

    assert session() != lost
    elsewhere("NOTIFY ojs_ready")
    assert notices.wait(DEADLINE_S)


def test_a_connection_that_the_claim_closed_ends_the_wait(notices: Notices) -> None:
    connection.close()

    assert notices.wait(DEADLINE_S)
