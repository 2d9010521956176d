"""The actions of operators on a tenant; each needs a reason."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action, Run
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest, Unprocessable
from tenancy.conf import conf
from tenancy.domain.tenant import Standing
from tenancy.domain.tenant_id import is_tenant_id
from tenancy.domain.tenant_request import LIMITS
from tenancy.forms import LABELS, one_limit
from tenancy.services import tenants, throttles
from tenancy.services.tenant_cache import limits_of


def _suspend(form: QueryDict, who: Caller) -> str:
    name = _id(form)
    tenants.set_standing(name, Standing.SUSPENDED, who, reason=who.reason)
    return f"Tenant {name} is suspended. New jobs are refused; only running jobs continue."


def _resume(form: QueryDict, who: Caller) -> str:
    name = _id(form)
    tenants.set_standing(name, Standing.ACTIVE, who, reason=who.reason)
    return f"Tenant {name} is resumed."


def _release(form: QueryDict, who: Caller) -> str:
    name = _id(form)
    throttles.release(name, actor=who, reason=who.reason)
    return f"Tenant {name} is no longer throttled, and will not be throttled again for a while."


def _limit(form: QueryDict, who: Caller) -> str:
    name, limit = _id(form), form.get("limit", "")
    if limit not in LIMITS:
        raise Unprocessable.field("limit", "must be a limit of tenants", limit[:50])
    before = limits_of(tenants.find(name))
    wanted = one_limit(limit, form.get("value", "").strip(), before)
    tenants.put_limits(name, wanted, who, reason=who.reason)
    value = wanted.to_wire()[limit]
    value = value["limit"] if isinstance(value, dict) else value
    said = "unlimited" if value is None else f"{value:,}"
    return f"“{LABELS[limit]}” of tenant {name}: {said} from now on."


def _delete(*, force: bool) -> Run:
    def run(form: QueryDict, who: Caller) -> str:
        name = _id(form)
        tenants.delete(name, who, force=force, reason=who.reason)
        return f"Tenant {name} is deleted. Ended jobs keep its id."

    return run


def _id(form: QueryDict) -> str:
    name = form.get("id", "")
    if not is_tenant_id(name, conf().default):
        raise InvalidRequest.field("tenant", "must be an id", name[:50].replace("\x00", ""))
    return name


ACTIONS: Final = (
    Action("tenant-suspend", "tenants.operate", _suspend, needs_reason=True),
    Action("tenant-resume", "tenants.operate", _resume, needs_reason=True),
    Action("tenant-release", "tenants.operate", _release, needs_reason=True),
    Action("tenant-limit", "tenants.operate", _limit, needs_reason=True),
    Action("tenant-delete", "tenants.delete", _delete(force=False), needs_reason=True),
    Action(
        "tenant-delete-force", "tenants.delete_with_jobs", _delete(force=True), needs_reason=True
    ),
)  # fmt: skip
