"""manage.py ojs versions TYPE [--remove 1.x]: the gate of a pipeline that deploys workers.

Exit codes: 0 safe, 3 not safe, 4 unknown; 1 and 2 are the codes of failed commands.
"""

from argparse import ArgumentParser
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import orjson

from jobs.domain.errors import Unprocessable
from jobs.domain.wire.bounds import MAX_TYPE
from jobs.domain.wire.durations import parse_short_duration
from jobs.domain.wire.names import TYPE_PATTERN
from jobs.extensions import Verb
from versioning.domain.removal import Removal, Safe, Use
from versioning.services.contract import Assessment, Bounds, assess
from versioning.services.contract_shape import encode, encode_use

CODES: Final = {Safe.YES: 0, Safe.NO: 3, Safe.UNKNOWN: 4}
LOOK: Final = 200_000  # a pipeline can wait longer than a page
MOST_LOOK: Final = 10_000_000
COLUMNS: Final = {  # their widths
    "available": 12, "active": 10, "scheduled": 12, "retryable": 12, "pending": 10,
    "dead_letters": 14, "workers": 9, "last_sent_at": 30,
}  # fmt: skip


def _declare(parser: ArgumentParser) -> None:
    parser.add_argument("type")
    parser.add_argument("--remove", metavar="VERSIONS", help='such as 1.x, 1.0 or "<2.0"')
    parser.add_argument(
        "--quiet", default="PT5M", metavar="DURATION", help="none may be sent for so long (PT5M)"
    )
    parser.add_argument(
        "--look", type=int, default=LOOK, metavar="N", help=f"read up to N of each kind ({LOOK})"
    )


def _run(options: Mapping[str, Any]) -> tuple[str, int]:
    found = _assessed(options)
    removal = found.removals[0] if options["remove"] is not None else None
    if options["json"]:
        shown = {"type": found.type, "versions": _versions(found), **encode(found)}
        text = orjson.dumps(shown).decode()
    else:
        text = "\n".join(_lines(found))
    return text, 0 if removal is None else CODES[removal.safe]


def _assessed(options: Mapping[str, Any]) -> Assessment:
    job_type, removed, look = options["type"], options["remove"], options["look"]
    if len(job_type) > MAX_TYPE or not TYPE_PATTERN.fullmatch(job_type):
        raise Unprocessable.field("type", "must be dot-separated lower-case words", job_type)
    if not 1 <= look <= MOST_LOOK:
        raise Unprocessable.field("--look", f"must be from 1 to {MOST_LOOK}", look)
    try:
        quiet = timedelta(milliseconds=parse_short_duration(options["quiet"]))
    except ValueError as problem:
        raise Unprocessable.field("--quiet", str(problem), options["quiet"]) from None
    try:
        return assess(
            job_type, None if removed is None else [removed], quiet=quiet, bounds=Bounds(look, look)
        )
    except ValueError as problem:
        raise Unprocessable.field("--remove", str(problem), removed) from None


def _versions(found: Assessment) -> list[dict[str, Any]]:
    return [{"version": str(use.version), **encode_use(use)} for use in found.uses]


def _lines(found: Assessment) -> list[str]:
    shown = [f"{'version':10}" + "".join(f"{name:>{width}}" for name, width in COLUMNS.items())]
    shown += [_use_row(str(use.version), use) for use in found.uses]
    shown.append(_use_row("none", found.unversioned))
    for removal in found.removals:
        shown += _removal_lines(removal)
    return shown


def _use_row(name: str, use: Use) -> str:
    shown = encode_use(use)
    cells = [
        f"{_cell(shown[column], is_cut=column in shown['at_least']):>{width}}"
        for column, width in COLUMNS.items()
    ]
    coming = ", ".join(f"{one.senders + one.resting} {one.source}" for one in use.coming)
    return f"{name:10}" + "".join(cells) + (f"  to come from {coming}" if coming else "")


def _cell(value: object, *, is_cut: bool) -> str:
    return "-" if value is None else f"{'>=' if is_cut else ''}{value}"


def _removal_lines(removal: Removal) -> list[str]:
    because = "" if removal.safe is Safe.YES else ", because"
    said = {Safe.UNKNOWN: "unknown"}.get(removal.safe, removal.safe.value)
    lines = [f"safe to remove {removal.removed}: {said}{because}"]
    for reason in removal.reasons:
        mark = "although " if removal.safe is Safe.YES else ""
        lines.append(f"  {mark}{reason.message}")
    return lines


VERB: Final = Verb(
    "versions", "report whether handlers of old versions may be removed", _declare, _run
)
