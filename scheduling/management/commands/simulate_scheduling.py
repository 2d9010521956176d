"""manage.py simulate_scheduling: simulate the effect of other pools, weights and limits."""

from pathlib import Path
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs.domain import extras
from jobs.domain.errors import OJSError
from scheduling.domain.outcome import Shares
from scheduling.domain.workload import MOST_JOBS
from scheduling.services.scenarios import Wish, run
from scheduling.services.simulate import Comparison

COLUMNS = ("jobs", "started", "share", "p50", "p95", "p99", "max")
S_FROM_MS = 10_000  # waits are shown in seconds from here on


class Command(BaseCommand):
    """Simulate scheduling in a scratch schema; live tables are read and never written."""

    help = "Replay jobs under changed pools, weights and limits, in virtual time."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options of a simulation."""
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--minutes", type=int, help="replay the jobs of the last minutes")
        what.add_argument("--scenario", type=Path, help="simulate the jobs of a YAML file")
        parser.add_argument(
            "--changes",
            type=Path,
            help="YAML file with the changes to compare; default: no comparison",
        )
        parser.add_argument("--seed", type=int, help="of a scenario, instead of its own")
        parser.add_argument(
            "--max-jobs", type=int, default=MOST_JOBS, help=f"default and most {MOST_JOBS}"
        )
        parser.add_argument("--json", action="store_true", help="print JSON instead of a table")

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Simulate and print."""
        if problem := extras.missing("simulate_scheduling", "yaml"):
            raise CommandError(problem)
        wish = Wish(
            minutes=options["minutes"],
            scenario=_text(options["scenario"]) or "",
            changes=_text(options["changes"]) or "",
            seed=options["seed"],
            most_jobs=_number(options["max_jobs"]),
        )
        try:
            found = run(wish, progress=self._report if options["verbosity"] > 1 else _ignore)
        except OJSError as problem:
            raise CommandError(str(problem)) from None
        if options["json"]:
            self.stdout.write(orjson.dumps(found.to_json(), option=orjson.OPT_INDENT_2).decode())
        else:
            self.stdout.write(table(found))

    def _report(self, part: float) -> None:
        self.stderr.write(f"{part:.0%}")


def _ignore(_part: float) -> None:
    pass


def _text(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise CommandError(f"{path} cannot be read: {problem}") from None
    if not text.strip():
        raise CommandError(f"{path} is empty")
    return text


def _number(most: int) -> int:
    if not 1 <= most <= MOST_JOBS:
        raise CommandError(f"--max-jobs must be from 1 to {MOST_JOBS}")
    return most


def table(found: Comparison) -> str:
    """Format an outcome as text: a line for each queue and tenant, before and after."""
    head = (
        f"{len(found.load.arrivals)} jobs, {_span(found.load.until_ms)},"
        f" steps of {found.step_ms} ms"
    )
    rows: list[tuple[str, ...]] = [("", "", *COLUMNS)]
    for kind in ("queues", "tenants"):
        for name, one in getattr(found.before, kind).items():
            label = f"{kind[:-1]} {name}"
            rows.append((label, "before" if found.after else "", *_cells(one)))
            if found.after:
                rows.append(("", "after", *_cells(getattr(found.after, kind)[name])))
    widths = [max(len(row[n]) for row in rows) for n in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if n < 2 else cell.rjust(width)  # noqa: PLR2004 - names, then numbers
            for n, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join([head, *found.load.notes, "", *lines])


def _cells(one: Shares) -> tuple[str, ...]:
    waits = (one.p50_ms, one.p95_ms, one.p99_ms, one.max_ms)
    return str(one.jobs), str(one.started), f"{one.share:.1%}", *map(_span, waits)


def _span(ms: int) -> str:
    return f"{ms / 1000:.1f} s" if ms >= S_FROM_MS else f"{ms} ms"
