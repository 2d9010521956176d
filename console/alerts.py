"""The page of each alert, on which an operator finds its cause."""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from django.urls import NoReverseMatch, reverse

from jobs.domain.record.alerts import Alert
from jobs.services.health.alerts import alerts

# also shown to users restricted to a tenant, because their jobs stop, too
OF_EVERYBODY: Final = {"maintenance", "loops_away", "loop_stuck", "database_slow"}


class Shown(NamedTuple):
    """An alert and the page of its cause; `url` is empty if no page exists."""

    alert: Alert
    url: str


def _jobs(**query: str) -> str:
    return f"{reverse('ojs_console:jobs')}?{urlencode(query)}"


def _region(region: str) -> str:
    return f"{reverse('ojs_console:regions')}#region-{region}"


PAGES: Final[Mapping[str, Callable[[Alert], str]]] = {
    "loop_stuck": lambda _: reverse("ojs_console:system"),
    "loops_away": lambda _: reverse("ojs_console:system"),
    "database_slow": lambda _: reverse("ojs_console:system"),
    "workers_silent": lambda _: reverse("ojs_console:workers"),
    "queue_starved": lambda alert: _jobs(queue=alert.subject, state="available"),
    "tenant_noisy": lambda alert: reverse("ojs_console:tenant", args=[alert.subject]),
    "tenant_throttled": lambda alert: reverse("ojs_console:tenant", args=[alert.subject]),
    "version_held": lambda alert: _jobs(type=alert.subject, state="available"),
    "worker_skewed": lambda alert: reverse("ojs_console:worker", args=[alert.subject]),
    "region_down": lambda alert: _region(alert.subject),
    "region_open": lambda alert: _region(alert.subject),
    "region_skewed": lambda alert: _region(alert.subject),
    "replication_late": lambda alert: _region(alert.subject),
    "webhook_off": lambda _: reverse("ojs_console:webhooks"),
}


def shown(tenant: str | None) -> list[Shown]:
    """Return the alerts that concern users restricted to `tenant`; None: all alerts."""
    return [
        Shown(alert, "" if tenant and alert.tenant is None else _page(alert))
        for alert in alerts()
        if tenant is None or alert.tenant == tenant or alert.kind in OF_EVERYBODY
    ]


def _page(alert: Alert) -> str:
    page: Callable[[Alert], Any] | None = PAGES.get(alert.kind)
    try:
        return page(alert) if page else ""
    except NoReverseMatch:  # the app of the page is absent
        return ""
