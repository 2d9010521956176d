"""The links to operations on all matching jobs, by state and permit."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest

from console import operations, tasks, walk
from console.access import may
from console.callers import caller_of
from console.filters import JobFilter
from console.permits import of_verb
from jobs.domain.outcome.bulk import Verb

LABELS: Final = {Verb.CANCEL: "Cancel all", Verb.RETRY: "Retry all", Verb.DELETE: "Delete all"}
KINDS: Final = {Verb.CANCEL: "danger", Verb.RETRY: "primary", Verb.DELETE: "danger"}
SHOWN = 5


def for_all(
    wanted: JobFilter, request: HttpRequest, more: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the context of `_operations.html`: links to operations on all matching jobs.

    A verb is offered if a state is chosen in which it applies; `more` has the columns of the page.
    """
    query = wanted.chosen()
    has_state = bool(wanted.state or wanted.dead)
    verbs = [
        (label, KINDS[verb], urlencode({"verb": verb, **query}))
        for verb, label in LABELS.items()
        if has_state and walk.states_of(verb, wanted) and may(request, of_verb(verb).name)
    ]  # fmt: skip
    may_export = may(request, of_verb(walk.EXPORT).name)
    export = urlencode({"verb": walk.EXPORT, **query, **(more or {})}) if may_export else ""
    is_shown = bool(verbs or export)
    return {
        "verbs": verbs,
        "export": export,
        "latest": operations.latest(caller_of(request).tenant, SHOWN) if is_shown else [],
        "is_served": tasks.is_served() if is_shown else None,
    }
