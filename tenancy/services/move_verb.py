"""manage.py ojs move-tenant TENANT --to URL: move a tenant to another cell."""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

import orjson
from django.db import Error

from jobs.domain.access.caller import Caller
from jobs.domain.errors import Unprocessable
from jobs.domain.wire.durations import parse_short_duration
from jobs.extensions import Verb
from jobs.services.cells.other_cell import OtherCell
from tenancy.domain.errors import MoveRefused
from tenancy.services import move

MOST_ADDRESS: Final = 500
MOST_WAIT_S: Final = 86_400


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("tenant")
    parser.add_argument(
        "--to", required=True, metavar="URL",
        help="the database of the new cell; take the password from PGPASSFILE, not from the URL",
    )  # fmt: skip
    parser.add_argument("--address", metavar="URL", help="of the new cell's server, for producers")
    parser.add_argument(
        "--wait", default="PT5M", metavar="DURATION", help="for active jobs to end (PT5M)"
    )
    parser.add_argument("--reason", help="for the audit log of both cells")
    parser.add_argument("--dry-run", action="store_true", help="only say what would move")
    parser.add_argument(
        "--cancel", action="store_true", help="give up a move that has moved no job yet"
    )


def _run(options: Mapping[str, Any]) -> tuple[str, int]:
    other = OtherCell(options["to"])
    try:
        wanted = _wanted(options, other)
        if options["cancel"]:
            move.cancel(wanted)
            return _shown(options, {"tenant": wanted.tenant, "cancelled": True}), 0
        if options["dry_run"]:
            return _previewed(options, move.preview(wanted))
        return _shown(options, asdict(move.run(wanted))), 0
    except Error as problem:
        reason = str(problem).partition("\n")[0]
        raise MoveRefused(
            f"a database does not answer: {reason}. What is done stays done: run the command again"
        ) from problem
    finally:
        other.close()


def _wanted(options: Mapping[str, Any], other: OtherCell) -> move.Wanted:
    address = options["address"]
    if address is not None and not 1 <= len(address) <= MOST_ADDRESS:
        raise Unprocessable.field("--address", f"must have 1 to {MOST_ADDRESS} characters", address)
    try:
        wait_s = parse_short_duration(options["wait"]) / 1000
    except ValueError as problem:
        raise Unprocessable.field("--wait", str(problem), options["wait"]) from None
    if wait_s > MOST_WAIT_S:
        raise Unprocessable.field("--wait", "must be at most a day", options["wait"])
    return move.Wanted(
        options["tenant"], other, Caller("manage.py", reason=options["reason"]), address, wait_s,
        _tell,
    )  # fmt: skip


def _tell(progress: str) -> None:
    sys.stderr.write(f"{progress}\n")
    sys.stderr.flush()


def _previewed(options: Mapping[str, Any], found: move.Preview) -> tuple[str, int]:
    code = 1 if found.obstacles else 0
    if options["json"]:
        facts = {"jobs": found.jobs, "obstacles": found.obstacles, "notes": found.notes}
        return orjson.dumps(facts).decode(), code
    lines = [f"{state:10} {jobs:>12,}" for state, jobs in found.jobs.items()]
    lines += [f"obstacle: {one}" for one in found.obstacles]
    lines += [f"note: {one}" for one in found.notes]
    return "\n".join(lines) or "The tenant has no job that would move.", code


def _shown(options: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    if options["json"]:
        return orjson.dumps(facts).decode()
    if facts.get("cancelled"):
        return f"The move of {facts['tenant']} is given up."
    number = sum(facts["jobs"].values())
    lines = [f"{number:,} jobs moved; new jobs were refused for {facts['refused_s']:.1f} s."]
    lines += [f"{state:10} {jobs:>12,}" for state, jobs in facts["jobs"].items()]
    return "\n".join([*lines, *(f"note: {one}" for one in facts["notes"])])


VERB: Final = Verb("move-tenant", "move a tenant to another cell", _declare, _run)
