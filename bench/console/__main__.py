"""python -m bench.console: response times of the console's pages with many jobs.

Prints the server's time and the statements of every page. See docs/performance.md.
"""

import argparse
import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import django
from django.core.management import call_command

from bench.console.store import Store
from bench.database import Database
from ojs_project.postgres import Cluster

# the database is only read after the load, and could be loaded again
LOADING = {"wal_level": "minimal", "max_wal_senders": "0", "fsync": "off", "autovacuum": "off"}
NAME = "console"


def main() -> int:
    """Load a store and request every page; returns 1 if a page exceeded its bound."""
    options = _options()
    signal.signal(signal.SIGTERM, lambda _number, _frame: sys.exit(1))  # ends the started processes
    with _folder(options.folder) as folder, Cluster(folder / "cluster", LOADING) as cluster:
        Database("postgres", cluster.sockets).run(f"CREATE DATABASE {NAME}")
        database = Database(NAME, cluster.sockets)
        _set_up(database)
        began = perf_counter()
        Store(database, options.jobs, options.connections, options.queues).build()
        took, size = perf_counter() - began, database.number(SIZE)
        print(f"{options.jobs:,} jobs, {size:,} MiB, loaded in {took:.0f} s\n", flush=True)
        from bench.console.ask import ask  # noqa: PLC0415 - models need Django to be set up

        return ask(database, options.times)


SIZE = f"SELECT pg_database_size('{NAME}') / 1048576"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.console", description=__doc__)
    parser.add_argument("--jobs", type=int, default=10_000_000, help="in the store, of all states")
    parser.add_argument("--queues", type=int, default=None, help="that the jobs are in; 50")
    parser.add_argument("--times", type=int, default=5, help="a page is asked after the first time")
    parser.add_argument("--connections", type=int, default=3, help="that load the store")
    parser.add_argument("--folder", type=Path, default=None, help="where the database is made")
    return parser.parse_args()


@contextmanager
def _folder(parent: Path | None) -> Iterator[Path]:
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="ojs-console-", dir=parent))
    folder.chmod(0o711)  # PostgreSQL may run under another account
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _set_up(database: Database) -> None:
    for name in [name for name in os.environ if name.startswith("OJS_")]:
        del os.environ[name]
    os.environ |= {
        "DJANGO_SETTINGS_MODULE": "ojs_project.settings",
        "DATABASE_URL": database.url,
        "OJS_SECRET_KEY": secrets.token_urlsafe(50),
        "OJS_ALLOWED_HOSTS": "*",
    }
    django.setup()
    call_command("migrate", verbosity=0)


if __name__ == "__main__":
    sys.exit(main())
