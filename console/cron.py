"""The actions of operators on schedules, by the services of the API."""

from dataclasses import dataclass, replace
from typing import Any

import orjson

from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.states import state_of
from jobs.domain.wire import jsonio
from jobs.services.audit.audit import audited
from jobs.services.read.show import show_many
from scheduling.domain.cron import describe
from scheduling.domain.definition import Definition
from scheduling.domain.overlap import Overlap
from scheduling.models import CronEntry, CronRun
from scheduling.services import cron_register
from scheduling.services.cron_entries import entries, latest_runs
from scheduling.services.cron_trigger import trigger


def allow(_queue: str, _kind: str) -> None:
    """Refuse nothing: a user with the permit to change schedules may let them make any job."""


def found(pk: int | str, who: Caller) -> CronEntry:
    """Return a schedule by the id of its row. Raises NotFound."""
    entry = entries(who).filter(pk=pk).first() if str(pk).isdecimal() else None
    if entry is None:
        raise NotFound.of("cron", str(pk))
    return entry


def act(verb: str, pk: str, who: Caller) -> str:
    """Execute the action of a button; return a message."""
    entry = found(pk, who)
    named: dict[str, Any] = {"caller": replace(who, tenant=None), "tenant": entry.tenant}
    match verb:
        case "trigger":
            job = trigger(entry.name, check=allow, **named)[1]
            return f"Schedule {entry.name} created job {job.id}."
        case "delete":
            cron_register.delete(entry.name, check=allow, **named)
            return f"Schedule {entry.name} is deleted. Its jobs stay."
        case _:
            cron_register.switch(entry.name, check=allow, enabled=verb == "resume", **named)
            now = "is resumed" if verb == "resume" else "is paused"
            return f"Schedule {entry.name} {now}."


@dataclass(frozen=True, slots=True)
class Row:
    """A schedule in the list; `outcome` is the state of its latest job, or why it has none."""

    entry: CronEntry
    words: str | None
    run: CronRun | None
    outcome: str | None


def rows(listed: list[CronEntry]) -> list[Row]:
    """Return the rows of the list of schedules; two statements."""
    runs = latest_runs(listed)
    jobs = {job.id: job for job in show_many([str(r.job_id) for r in runs.values() if r.job_id])}
    answer = []
    for entry in listed:
        run = runs.get(entry.id)
        job = jobs.get(str(run.job_id)) if run else None
        outcome = state_of(job.state).value if job else run.reason if run else None
        answer.append(Row(entry, describe(entry.expression), run, outcome))
    return answer


EMPTY = {
    "name": "", "expression": "0 * * * *", "timezone": "UTC", "overlap": Overlap.SKIP.value,
    "description": "", "template": '{\n  "type": "",\n  "args": [],\n  "options": {}\n}',
}  # fmt: skip


def fields_of(entry: CronEntry) -> dict[str, str]:
    """Return a schedule as fields of its form."""
    return {
        "name": entry.name,
        "expression": entry.expression,
        "timezone": entry.timezone,
        "overlap": entry.overlap_policy,
        "description": entry.description or "",
        "template": orjson.dumps(entry.template, option=orjson.OPT_INDENT_2).decode(),
    }


def save(fields: dict[str, str], entry: CronEntry | None, decode: Any, who: Caller) -> CronEntry:
    """Store a form as a new schedule or as a change of `entry`. Raises as the API does."""
    body: dict[str, Any] = {
        "name": entry.name if entry else fields["name"],
        "expression": fields["expression"],
        "timezone": fields["timezone"] or None,
        "overlap_policy": fields["overlap"],
        "description": fields["description"] or None,
        "job_template": jsonio.loads_object(fields["template"].encode()),
        "enabled": entry.enabled if entry else True,
    }
    definition: Definition = decode(body)
    tenant = entry.tenant if entry else who.tenant
    if entry is None and entries(who).filter(name=definition.name, tenant=tenant).exists():
        raise InvalidRequest.field("name", "is taken by another schedule", definition.name)
    owner = replace(who, tenant=tenant)
    with audited(who, "cron.stored", definition.name) as data:
        data["is_new"] = entry is None
        return cron_register.register(definition, owner, allow)[0]
