"""Two cells: the test database is the old cell, another copy of the migrated one the new cell."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection

from jobs.models import ApiKey
from jobs.services.cells.other_cell import OtherCell
from tests.conftest import empty
from tests.migrated import Migrated
from tests.tenancy.moves.cells import Cells


@pytest.fixture(scope="session")
def other_url(django_db_setup: None, migrated: Migrated) -> Iterator[str]:
    """Return the URL of another database with the same tables."""
    facts = connection.settings_dict
    name = f"{facts['NAME']}_cell"
    with psycopg.connect(
        host=facts["HOST"], user=facts["USER"], dbname="postgres", autocommit=True
    ) as admin:
        with migrated.named() as template:
            admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        yield f"postgresql://{facts['USER']}@/{name}?host={facts['HOST']}"
        admin.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def cells(other_url: str, store: None) -> Iterator[Cells]:
    """Return two empty cells."""
    other = OtherCell(other_url)
    with other.inside():
        empty()
    yield Cells(other)
    ApiKey.objects.all().delete()  # a reset keeps them
    with other.inside():
        ApiKey.objects.all().delete()
        empty()
    other.close()
