"""The migration of rows: kill -9 of its workers, several times."""

import json
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.examples.rows_victim import DEATHS
from tests.project.conftest import clean_environment

ROWS = 1000


@pytest.mark.usefixtures("store")
def test_migration_survives_the_death_of_its_workers(database_url: str, tmp_path: Path) -> None:
    path = str(tmp_path / "rows.sqlite")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE old_rows (id integer PRIMARY KEY, name text)")
        database.execute("CREATE TABLE new_rows (id integer PRIMARY KEY, name text)")
        names = [(n, f"row {n}") for n in range(1, ROWS + 1)]
        database.executemany("INSERT INTO old_rows VALUES (?, ?)", names)
    environment = {
        **clean_environment(), "DATABASE_URL": database_url, "OJS_SECRET_KEY": "x" * 50,
        "DJANGO_SETTINGS_MODULE": "ojs_project.settings",
    }  # fmt: skip

    done = subprocess.run(
        [sys.executable, "-m", "tests.examples.rows_victim", path],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout + done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    with closing(sqlite3.connect(path)) as database:
        copied = database.execute("SELECT id, name FROM new_rows ORDER BY id").fetchall()
    assert facts["signals"] == [signal.SIGKILL] * DEATHS + [0]
    assert (facts["state"], facts["result"]) == ("completed", ROWS)
    assert copied == [(n, f"ROW {n}") for n in range(1, ROWS + 1)]
