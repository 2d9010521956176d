"""The limit of a path: pgbench with the equivalent SQL against the same database."""

import re
import subprocess
from pathlib import Path

from bench.database import Database
from ojs_project.postgres import bin_dir

TRANSACTIONS = re.compile(r"transactions actually processed: (\d+)")
DURATION = re.compile(r"tps = ([\d.]+)")
THREADS = 2


class PgbenchError(Exception):
    """The script failed."""


def run(database: Database, script: Path, clients: int, seconds: float) -> tuple[int, float]:
    """Run `script` with `clients` connections; returns transactions and their seconds."""
    return _run(database, script, clients, "--time", max(1, round(seconds)))


def run_number(database: Database, script: Path, transactions: int) -> tuple[int, float]:
    """Run `script` for a number of transactions with one connection; returns the same."""
    return _run(database, script, 1, "--transactions", transactions)


def _run(
    database: Database, script: Path, clients: int, bound: str, limit: int
) -> tuple[int, float]:
    done = subprocess.run(
        [
            bin_dir() / "pgbench", "--no-vacuum", "--protocol", "prepared",
            "--client", str(clients), "--jobs", str(min(THREADS, clients)),
            bound, str(limit), "--file", script, database.url,
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    count, rate = TRANSACTIONS.search(done.stdout), DURATION.search(done.stdout)
    if done.returncode or not count or not rate:
        raise PgbenchError(done.stderr.strip()[-1000:])
    transactions = int(count[1])
    return transactions, transactions / float(rate[1])
