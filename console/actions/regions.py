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
        return f"Region {region} was not probed: its circuit breaker is open."
    return f"Region {region} is {found.status}."


def _open(form: QueryDict, who: Caller) -> str:
    breakers.force(form.get("id", ""), State.OPEN, who)
    return f"The breaker of {form.get('id', '')} is open. No job goes there until it is closed."


def _close(form: QueryDict, who: Caller) -> str:
    breakers.force(form.get("id", ""), State.CLOSED, who)
    return f"The breaker of {form.get('id', '')} is closed. The region gets jobs again."


def _drain(form: QueryDict, who: Caller) -> str:
    configure.set_drain(form.get("id", ""), who, drain=True)
    return f"Region {form.get('id', '')} drains. It gets no new jobs; its stored jobs stay."


def _undrain(form: QueryDict, who: Caller) -> str:
    configure.set_drain(form.get("id", ""), who, drain=False)
    return f"Region {form.get('id', '')} gets new jobs again."


ACTIONS: Final = (
    Action("region-probe", "regions.operate", _probe, "Probe"),
    Action(
        "region-open", "regions.operate", _open, "Open breaker",
        ask="Open the breaker? No job goes to this region until an operator closes it.",
    ),
    Action("region-close", "regions.operate", _close, "Close breaker", "primary"),
    Action(
        "region-drain", "regions.operate", _drain, "Drain",
        ask="Drain this region? The router sends it no new jobs.",
    ),
    Action("region-undrain", "regions.operate", _undrain, "Undrain", "primary"),
)  # fmt: skip
