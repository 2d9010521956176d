"""System checks of the settings of a backend, as `manage.py check` reports them."""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

from django.core.checks import CheckMessage, Error

from ojs_tasks.server import check
from ojs_tasks.terms import OF_CALL, TERMS

if TYPE_CHECKING:
    from ojs_tasks.backends.base import OJSBackend

QUEUE: Final = re.compile(r"[a-z0-9][a-z0-9.-]*")
LONGEST: Final = 128
KEYS: Final = ("BACKEND", "QUEUES", "OPTIONS", "ENQUEUE_ON_COMMIT")


def of_keys(alias: str, given: Iterable[str]) -> Iterator[CheckMessage]:
    """Yield an error for each key of the backend's entry that the framework does not read."""
    for name in given:
        if name not in KEYS:
            near = get_close_matches(name.upper(), KEYS, 1)
            advice = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(KEYS)}."
            yield Error(f"TASKS[{alias!r}] has no key {name!r}.", hint=advice, id="ojs_tasks.E106")


def of_queues(alias: str, queues: Iterable[str]) -> Iterator[CheckMessage]:
    """Yield an error for each queue whose name the server refuses."""
    for name in sorted(queues):
        if len(name) > LONGEST or not QUEUE.fullmatch(name):
            yield Error(
                f"TASKS[{alias!r}]['QUEUES'] has the queue {name!r}, which is no valid name.",
                hint="A name has lower-case letters, digits, dots and hyphens, at most 128.",
                id="ojs_tasks.E101",
            )


def of_options(backend: "OJSBackend") -> Iterator[CheckMessage]:
    """Yield the errors of OPTIONS: unknown names, wrong values."""
    where = f"TASKS[{backend.alias!r}]['OPTIONS']"
    known = {*backend.own_options, *TERMS} - OF_CALL
    unknown = [name for name in backend.options if name not in known]
    for name in unknown:
        near = get_close_matches(name.lower(), known, 1)
        advice = f"Did you mean {near[0]!r}?" if near else f"Known: {', '.join(sorted(known))}."
        yield Error(f"{where} has no option {name!r}.", hint=advice, id="ojs_tasks.E102")
    if not unknown:
        try:
            check({**backend.members, "type": "task", "args": []})
        except Exception as problem:  # of our table, or any refusal of the server
            yield Error(f"{where}: {problem}", id="ojs_tasks.E103")
