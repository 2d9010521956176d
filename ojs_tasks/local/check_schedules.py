"""Check schedules of handlers at import, when models may not be ready yet.

This needs the package `scheduling`. A project without that app may have one of the same name.
"""

from datetime import UTC, datetime
from typing import Any

from jobs.domain.enqueue.server_limits import Limits
from jobs.domain.envelope import parse_job
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire import jsonio
from ojs_tasks.server import Draft
from scheduling.domain.cron import check_zone, plan
from scheduling.domain.definition import NAME_PATTERN, Definition
from scheduling.domain.overlap import Overlap


def check_schedule(body: Draft) -> None:
    """Raise the server's refusal of a schedule whose job has default limits."""
    definition = definition_of(body)
    now = datetime.now(UTC)
    definition.check(now, Limits())
    if plan(definition.schedule(), now) is None:
        raise InvalidRequest.field("expression", "never occurs", definition.expression)


def definition_of(body: Draft) -> Definition:
    """Return a schedule in code as its definition. Raises InvalidRequest."""
    name, zone = body["name"], body["timezone"]
    if not NAME_PATTERN.fullmatch(name):
        raise InvalidRequest.field(
            "name", "must be 1 to 255 of a-z, 0-9, '.' and '-', not '.' or '-' first", name
        )
    try:
        check_zone(zone)
    except ValueError as problem:
        raise InvalidRequest.field("timezone", str(problem), zone) from None
    if body["overlap_policy"] not in set(Overlap):
        choices = f"must be one of {', '.join(Overlap)}"
        raise InvalidRequest.field("overlap_policy", choices, body["overlap_policy"])
    return Definition(
        name=name,
        expression=body["expression"],
        timezone=zone,
        template=_template(body["job_template"]),
        overlap=Overlap(body["overlap_policy"]),
    )


def _template(given: Draft) -> dict[str, Any]:
    """Return the template as it is read from the database, so that equal ones compare equal."""
    parse_job(given)  # refuses values that are no JSON
    members = {name: value for name, value in given.items() if value is not None}
    read: dict[str, Any] = jsonio.loads_object(
        bytes(jsonio.dumps({"args": [], "meta": {}, "options": {}, **members}))
    )
    return read
