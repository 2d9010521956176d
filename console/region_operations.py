"""Operations on the copies of a region's jobs: adopt them, or remove them.

They run in slices, as operations on many jobs do; see console/operations.py. Only imported if the
app `federation` is installed.
"""

from dataclasses import asdict
from typing import Any, Final

from console import operations
from console.models import Operation
from console.operations import Taken
from federation.services.replication import adopt, forget_region
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest
from jobs.services.operate import bulk

ADOPT, FORGET = operations.ADOPT, operations.FORGET
SLICE: Final = 500  # jobs of one transaction


def start(verb: str, region: str, queue: str | None, who: Caller, *, force: bool) -> Operation:
    """Begin an operation on the copies of a region. Raises OJSError if it is not possible."""
    if who.reason is None:
        raise InvalidRequest.field("reason", "must say why", None)
    if verb == FORGET:
        seen = forget_region.forget_copies(
            forget_region.Order(region, forget_region.MOST, dry_run=True)
        )
        jobs, is_exact, options = seen.removed, seen.is_done, {}
    else:
        adopt.require_adoptable(region, force=force)
        outlook = adopt.outlook(region, queue)
        jobs, is_exact, options = outlook.waiting, outlook.is_exact, {"force": force}
    return operations.begin(
        Operation(
            verb=verb,
            wanted={"region": region} | ({"queue": queue} if queue else {}),
            actor=who.name,
            address=who.address,
            reason=who.reason,
            estimate=jobs,
            is_exact=is_exact,
            place=asdict(bulk.begin()),
            options=options,
        )
    )


def go(operation: Operation) -> Taken:
    """Run the next slice in the caller's transaction. Raises OJSError if it must not continue."""
    who = Caller(operation.actor, address=operation.address)
    region, place = operation.wanted["region"], bulk.Place(**operation.place)
    if operation.verb == FORGET:
        order = forget_region.Order(region, SLICE, is_part=True)
        found = forget_region.forget_copies(order, who)
        return Taken(found.removed, found.removed, None if found.is_done else place)
    report = adopt.adopt(
        adopt.Order(
            region, operation.wanted.get("queue"), SLICE, place.rest["id"] if place.rest else None,
            force=operation.options["force"], is_part=True,
        ),
        who,
    )  # fmt: skip
    stayed = {**report.kept, "known": report.known, "refused": report.refused}
    following = bulk.Place(place.asof, place.source, {"id": report.next, "at": None})
    return Taken(
        report.looked,
        report.adopted,
        following if report.next else None,
        options=_with(operation.options, stayed),
    )


def _with(options: dict[str, Any], stayed: dict[str, int]) -> dict[str, Any]:
    before: dict[str, int] = options.get("stayed", {})
    names = [name for name in (*before, *stayed) if before.get(name) or stayed.get(name)]
    return {
        **options,
        "stayed": {name: before.get(name, 0) + stayed.get(name, 0) for name in names},
    }
