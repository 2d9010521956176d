"""The database engine that counts statements and limits waits. Spec: contract 32.3."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event

import pytest
from django.db import OperationalError, ProgrammingError, connection, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from prometheus_client import REGISTRY
from psycopg.errors import ConnectionTimeout

from jobs.bounds import Work, answered_within, for_thread
from jobs.fastpath.deferred_metrics import write_now
from jobs.repeat import refusal
from ojs_project import env
from ojs_project.database.guard import NoAnswer, Outage
from tests.processes import until

pytestmark = pytest.mark.usefixtures("store")


def value(name: str, **more: str) -> float:
    """Return a sample of the default connection."""
    write_now()
    labels = {"alias": "default", "vendor": "postgresql", **more}
    return REGISTRY.get_sample_value(name, labels) or 0


def test_statements_are_counted_and_timed_once() -> None:
    names = ("django_db_execute_total", "django_db_query_duration_seconds_count")
    before = [value(name) for name in names]

    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")

    assert [value(name) for name in names] == [number + 1 for number in before]


def test_failures_are_counted_by_their_kind() -> None:
    before = value("django_db_errors_total", type="UndefinedColumn")

    with pytest.raises(ProgrammingError), connection.cursor() as cursor:
        cursor.execute("SELECT nothing")

    assert value("django_db_errors_total", type="UndefinedColumn") == before + 1


def test_new_connections_are_counted() -> None:
    before = value("django_db_new_connections_total")

    connection.close()
    connection.ensure_connection()

    assert value("django_db_new_connections_total") == before + 1


# --- bounds ---------------------------------------------------------------------------------------

NAMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")


@contextmanager
def connected(work: Work | None, alias: str = "default") -> Iterator[BaseDatabaseWrapper]:
    """Give a connection of a thread that does this work."""
    for_thread(work)
    made = connections.create_connection(alias)
    try:
        made.ensure_connection()
        yield made
    finally:
        made.close()
        for_thread(None)


def bounds_of(made: BaseDatabaseWrapper) -> list[str]:
    """Return the timeouts of a connection on the database server."""
    with made.cursor() as cursor:
        return [cursor.execute(f"SHOW {name}").fetchone()[0] for name in NAMES]


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        (None, ["5min", "30s", "1min"]),
        (Work.REQUESTS, ["6s", "5s", "1min"]),
        (Work.TASKS, ["5min", "30s", "1min"]),
        (Work.MIGRATIONS, ["0", "30s", "1min"]),
    ],
)
def test_every_connection_has_the_bounds_of_its_work(
    work: Work | None, expected: list[str]
) -> None:
    with connected(work) as made:
        assert bounds_of(made) == expected


def test_options_of_the_url_count_beside_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    facts = connection.settings_dict
    more = {**facts["OPTIONS"], "options": "-c lock_timeout=123 -c work_mem=5MB"}
    monkeypatch.setitem(facts, "OPTIONS", more)

    with connected(Work.REQUESTS) as made:
        assert bounds_of(made) == ["6s", "123ms", "1min"]


def test_a_pooled_connection_sends_no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.settings_dict, "DISABLE_SERVER_SIDE_CURSORS", True)

    assert "options" not in connection.get_connection_params()


def test_a_statement_without_an_answer_ends_at_its_deadline() -> None:
    with connected(Work.REQUESTS) as made:
        before = made.connection.outage.number
        with answered_within(0.1), pytest.raises(OperationalError, match="did not answer in time"):
            made.cursor().execute("SELECT pg_sleep(60)")

        assert made.connection.closed
        assert made.connection.outage.number == before + 1
    until(is_connected, "the end of the outage")


def is_connected() -> bool:
    """Return whether a request may connect."""
    with suppress(OperationalError), connected(Work.REQUESTS) as made:
        return bool(bounds_of(made))
    return False


def test_a_connection_that_is_refused_says_that_nothing_was_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(connection.settings_dict, "HOST", "/nowhere")

    with pytest.raises(OperationalError) as refused, connected(None):
        pass

    found = refusal(refused.value)
    assert found is not None
    assert found.is_undone


def test_no_thread_connects_while_the_database_stands_still() -> None:
    """Otherwise a request that waited for a thread would also wait to connect: 11 s in all."""
    outage = Outage()
    answers: list[bool] = []
    may_end = Event()

    def ask() -> None:
        answers.append(may_end.is_set())
        if not may_end.is_set():
            raise NoAnswer("still")

    with outage.connecting(ask):
        pass
    outage.begin()
    for _ in range(3):
        with pytest.raises(NoAnswer), outage.connecting(ask):
            pytest.fail("it connects")
    until(lambda: len(answers) > 1, "tries to connect")
    may_end.set()

    until(lambda: connects(outage, ask), "the end of the outage")
    assert answers == [*[False] * (len(answers) - 1), True]


def test_a_connection_that_takes_too_long_begins_an_outage() -> None:
    outage = Outage()
    before = outage.number

    with pytest.raises(ConnectionTimeout), outage.connecting(lambda: None):
        raise ConnectionTimeout

    assert outage.number == before + 1
    until(lambda: connects(outage, lambda: None), "the end of the outage")


def connects(outage: Outage, ask: Callable[[], None]) -> bool:
    """Return whether a thread may connect."""
    with suppress(NoAnswer), outage.connecting(ask):
        return True
    return False


def test_of_several_hosts_the_one_that_takes_writes_is_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    facts = connection.settings_dict
    url = f"postgresql:///?host=/nowhere,{facts['HOST']}&target_session_attrs=read-write"
    found = env.database(url)
    monkeypatch.setitem(facts, "HOST", found["HOST"])
    monkeypatch.setitem(facts, "OPTIONS", {**facts["OPTIONS"], **found["OPTIONS"]})

    with connected(None) as made:
        assert bounds_of(made)
