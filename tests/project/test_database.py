"""The engine that counts statements. Spec: contract 32.3."""

import pytest
from django.db import ProgrammingError, connection
from prometheus_client import REGISTRY

from jobs.tally import write_now

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
