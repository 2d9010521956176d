"""The connection and the alias that reads use: jobs/database.py."""

from collections.abc import Iterator

import pytest
from django.db import connections, router

from jobs.database import atomic, connection, main_connection, reading_alias, reading_from
from jobs.models import Job, Staff
from tests.factories import JobFactory

OTHER = "elsewhere"
pytestmark = pytest.mark.usefixtures("store", "elsewhere")


@pytest.fixture
def elsewhere() -> Iterator[None]:
    """Give the test database a second alias."""
    connections.settings[OTHER] = connections.settings["default"]
    yield
    connections[OTHER].close()
    del connections[OTHER]
    del connections.settings[OTHER]


def test_reads_of_a_block_use_the_other_database_and_writes_do_not() -> None:
    with reading_from(OTHER):
        assert connection.alias == OTHER
        assert Job.objects.all().db == OTHER
        assert main_connection.alias == "default"
        assert router.db_for_write(Job) == "default"
        assert router.db_for_read(Staff) == "default"  # beside the users

    assert connection.alias == reading_alias() == "default"


def test_a_transaction_within_the_block_reads_its_own_changes() -> None:
    with reading_from(OTHER):
        with atomic():
            job = JobFactory.create()
            assert connection.alias == "default"
            assert Job.objects.filter(id=job.id).exists()
        assert connection.alias == OTHER


def test_a_block_within_a_transaction_reads_elsewhere() -> None:
    with atomic(), reading_from(OTHER):
        assert connection.alias == OTHER


def test_a_block_can_return_to_the_database_itself() -> None:
    with reading_from(OTHER), reading_from(None):
        assert connection.alias == "default"
