"""The host project of the pages, on a database of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from tests.docs import host
from tests.docs.host import Host


@pytest.fixture
def project(store: None, tmp_path: Path) -> Iterator[Host]:
    """Return an empty host project whose database is empty, too."""
    facts = connection.settings_dict
    name = f"{facts['NAME']}_host"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    variables = {"PGDATABASE": name, "PGUSER": facts["USER"], "PGHOST": facts["HOST"]}
    if facts["PORT"]:
        variables["PGPORT"] = str(facts["PORT"])
    if facts["PASSWORD"]:
        variables["PGPASSWORD"] = facts["PASSWORD"]
    yield host.make(tmp_path, variables)
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
