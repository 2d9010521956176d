"""Migrations beside running processes: each locks at most one table that is in use.

A migration that held one table while it waited for the next would deadlock with claims, which take
both. Processes of the release before answer that with an error.
"""

import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.conftest import ROOT
from tests.upgrade.conftest import Make, environment
from tests.upgrade.freeze import released

pytestmark = [pytest.mark.xdist_group("upgrade"), pytest.mark.long]

FIRST = set(next(iter(released().values())))
LOCKED = """
SELECT DISTINCT c.relname::text FROM pg_locks AS l JOIN pg_class AS c ON c.oid = l.relation
 WHERE l.pid = pg_backend_pid() AND c.relkind = 'r' AND c.oid = ANY (%s)
   AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
"""
TABLES = "SELECT oid FROM pg_class WHERE relkind = 'r' AND relname LIKE 'ojs%'"


def later() -> list[Path]:
    """Return the migrations since the first release."""
    files = sorted(ROOT.glob("*/migrations/[0-9]*.py"))
    return [path for path in files if str(path.relative_to(ROOT)) not in FIRST]


def statements(url: str, path: Path) -> str:
    """Return the statements that a migration runs in its transaction, without its Python code."""
    label = "ojs_" + path.parts[-3]
    done = subprocess.run(
        [sys.executable, "manage.py", "sqlmigrate", label, path.stem],
        cwd=ROOT, env=environment(url, ROOT), text=True, capture_output=True, check=True,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line not in {"BEGIN;", "COMMIT;"}]
    return "\n".join(lines)


def test_each_migration_locks_one_table_that_is_in_use_at_most(
    databases: Make, oldest: str
) -> None:
    url = databases(oldest)
    wrong = {}
    with psycopg.connect(url, autocommit=True) as session:
        there = [row[0] for row in session.execute(TABLES)]
        for path in later():
            with session.transaction():
                session.execute(statements(url, path).encode())
                locked = [row[0] for row in session.execute(LOCKED, (there,))]
            if len(locked) > 1:
                wrong[path.name] = sorted(locked)

    assert later()
    assert wrong == {}
