"""The first steps on the overview: a tour of the demo, or what to do with an empty server."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from django.conf import settings
from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from console.access import may
from console.pages import BY_NAME


class Stop(NamedTuple):
    """A page of the tour."""

    url: str
    label: str
    text: str


# name of the page, its arguments, query, and what it shows
_STOPS: Final = (
    ("versions_of_type", ("invoice.render",), "A canary",
     "Version 2.0 of a renderer gets more jobs step by step. Every 15 minutes it fails, and the "
     "server rolls it back."),
    ("workflows", (), "Workflows", "Chains, batches and graphs of jobs, as they run."),
    ("pools", (), "Pools", "Workers with weighted, strict and round-robin strategies."),
    ("tenants", (), "Tenants", "Weights and limits; after 2½ minutes acme:eu becomes noisy."),
    ("crons", (), "Schedules", "Cron schedules in four time zones."),
    ("dead_letter", (), "Dead letter", "Declined cards, grouped by error."),
    ("queue", ("exports",), "A starving queue",
     "After 4 minutes no export starts for 100 seconds; then the queue recovers."),
    ("jobs", (), "Jobs", "After 1 minute the mail relay fails for 50 seconds: filter mail.send."),
)  # fmt: skip


def tour(request: HttpRequest) -> list[Stop]:
    """Return the pages of the tour that this user may see; empty outside the demo."""
    return list(_stops(request)) if getattr(settings, "OJS_DEMO", False) else []


def _stops(request: HttpRequest) -> Iterator[Stop]:
    for name, arguments, label, text in _STOPS:
        if not may(request, BY_NAME[name].read):
            continue
        try:
            yield Stop(reverse(f"ojs_console:{name}", args=arguments), label, text)
        except NoReverseMatch:  # the app of the page is absent
            continue
