"""The actions of operators on a region."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action
from federation.domain.breaker import State
from federation.services.health import breakers
from federation.services.registry import configure
from federation.services.registry.regions import registry
from federation.services.routing import route
from jobs.domain.access.caller import Caller
from jobs.services.audit.audit import record


def _probe(form: QueryDict, who: Caller) -> str:
    region = configure.find(form.get("id", "")).id
    record(who, "federation.region_probed", region)  # a probe takes long: no transaction around it
    route.probe_all([region], registry().configured)
    found = configure.find(region).health
    if found.breaker == State.OPEN:
        return f"Region {region} was not asked: its circuit breaker is open."
    return f"Region {region} is {found.status}."


def _open(form: QueryDict, who: Caller) -> str:
    breakers.force(form.get("id", ""), State.OPEN, who)
    return (
        f"The breaker of {form.get('id', '')} is open until it is closed here: no job goes there."
    )


def _close(form: QueryDict, who: Caller) -> str:
    breakers.force(form.get("id", ""), State.CLOSED, who)
    return f"The breaker of {form.get('id', '')} is closed: it is asked again."


def _drain(form: QueryDict, who: Caller) -> str:
    configure.set_drain(form.get("id", ""), who, drain=True)
    return f"Region {form.get('id', '')} drains: no new job goes there, those it has stay."


def _undrain(form: QueryDict, who: Caller) -> str:
    configure.set_drain(form.get("id", ""), who, drain=False)
    return f"Region {form.get('id', '')} takes jobs again."


ACTIONS: Final = (
    Action("region-probe", "regions.operate", _probe, "Probe"),
    Action(
        "region-open", "regions.operate", _open, "Open breaker",
        ask="Send nothing to this region until its breaker is closed here?",
    ),
    Action("region-close", "regions.operate", _close, "Close breaker", "primary"),
    Action(
        "region-drain", "regions.operate", _drain, "Drain",
        ask="Route no new jobs to this region?",
    ),
    Action("region-undrain", "regions.operate", _undrain, "Undrain", "primary"),
)  # fmt: skip
