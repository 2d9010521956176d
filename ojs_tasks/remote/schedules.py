"""Make the schedules of a project at a server those in code: a script of calls. Spec: contract 7.5.

The owner of a schedule is in the `meta` of its jobs. The server has no transaction for several
schedules: each is registered and deleted by itself, and a repetition does no harm.
"""

from collections.abc import Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, TypeAlias
from urllib.parse import quote

from ojs_tasks.codecs.payload import compared
from ojs_tasks.remote.exchange import Call, Script, asked
from ojs_tasks.remote.operations import refused
from ojs_tasks.remote.wire import dumps, loads
from ojs_tasks.server import Draft, Reconciled

OWNER: Final = "ojs_project"  # in the `meta` of the jobs
PAGE: Final = 200
TEMPLATE: Final[Mapping[str, Any]] = {"args": [], "meta": {}, "options": {}}  # without members
COMPARED: Final = ("expression", "timezone", "overlap_policy", "job_template")

Shown: TypeAlias = Mapping[str, Any]  # a schedule, as an answer has it


def reconcile(owner: str, bodies: Sequence[Draft], retries: int) -> Script[Reconciled]:
    """Register new schedules, replace different ones, and delete the others of this owner.

    Schedules of other owners stay, and those without one. A schedule that the server refuses, and a
    name that another owner uses, are in `refused`. Raises Refused for an answer that concerns all.
    """
    found = {one["name"]: one for one in _reachable((yield from _all(retries)))}
    added: list[str] = []
    changed: list[str] = []
    refusals: dict[str, str] = {}
    for body in bodies:
        wanted, before = _owned(body, owner), found.get(body["name"])
        if before is not None and _owner(before) != owner:
            refusals[body["name"]] = _taken(before)
        elif before is None or _compared(before) != _compared(wanted):
            enabled = True if before is None else before.get("enabled") is not False
            reason = yield from _put({**wanted, "enabled": enabled}, retries)
            if reason is None:
                (added if before is None else changed).append(body["name"])
            else:
                refusals[body["name"]] = reason
    named = {body["name"] for body in bodies}
    gone = [one for one in found.values() if _owner(one) == owner and one["name"] not in named]
    for one in gone:
        yield from _delete(one, retries)
    return Reconciled(added, changed, [one["name"] for one in gone], refusals)


def _all(retries: int) -> Script[list[Shown]]:
    found: list[Shown] = []
    while True:
        call = Call("GET", f"cron?limit={PAGE}&offset={len(found)}")
        reply = (yield from asked(call, retries)).reply
        if not reply.is_success:
            raise refused(reply)
        body = reply.body if isinstance(reply.body, dict) else {}
        page = body.get("crons") or body.get("cron_jobs") or ()
        found.extend(page)
        if not page or (body.get("pagination") or {}).get("has_more") is not True:
            return found


def _reachable(listed: Sequence[Shown]) -> Iterator[Shown]:
    """Yield the schedules that this key replaces by their names alone.

    A key without a tenant also sees those of all tenants, whose names may be the same.
    """
    sees_all = any(one.get("tenant_id") is None for one in listed)
    return (one for one in listed if not sees_all or one.get("tenant_id") is None)


def _put(body: Draft, retries: int) -> Script[str | None]:
    """Register or replace a schedule; returns the reason if the server refuses it for good."""
    reply = (yield from asked(Call("POST", "cron", dumps(body)), retries)).reply
    if reply.is_success:
        return None
    problem = refused(reply)
    if problem.retryable or reply.status == HTTPStatus.UNAUTHORIZED:
        raise problem
    return problem.message


def _delete(one: Shown, retries: int) -> Script[None]:
    tenant = one.get("tenant_id")
    query = "" if tenant is None else f"?tenant={quote(tenant, safe='')}"
    call = Call("DELETE", f"cron/{quote(one['name'], safe='')}{query}")
    reply = (yield from asked(call, retries)).reply
    if not reply.is_success and reply.status != HTTPStatus.NOT_FOUND:  # another worker was faster
        raise refused(reply)


def _owned(body: Draft, owner: str) -> dict[str, Any]:
    """Return the request of a schedule with its owner, as JSON has it."""
    template = body["job_template"]
    owned = {**template, "meta": {**(template.get("meta") or {}), OWNER: owner}}
    found: dict[str, Any] = loads(dumps({**body, "job_template": owned}))
    return found


def _compared(schedule: Shown) -> dict[str, Any]:
    """Return what must be equal, so that a schedule needs no change."""
    found = {name: schedule.get(name) for name in COMPARED}
    return {**found, "job_template": compared({**TEMPLATE, **_template(schedule)})}


def _template(schedule: Shown) -> Mapping[str, Any]:
    """Return the template; other servers may show its members beside the schedule's."""
    found = schedule.get("job_template")
    return found if isinstance(found, Mapping) else schedule


def _owner(schedule: Shown) -> str | None:
    meta = _template(schedule).get("meta")
    found = meta.get(OWNER) if isinstance(meta, Mapping) else None
    return found if isinstance(found, str) else None


def _taken(schedule: Shown) -> str:
    owner = _owner(schedule)
    whose = "the API, the console or the server itself" if owner is None else f"project {owner}"
    return f"the name is taken by a schedule of {whose}"
