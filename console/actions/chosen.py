"""Actions on the checked jobs of a list, at most a page at once."""

from collections.abc import Mapping
from typing import Final

from django.http import HttpRequest, QueryDict

from console.access import may
from console.actions.action import Action, Run
from console.filters import JobFilter
from console.permits import OPERATIONS
from console.search import SIZE
from jobs.domain.access.caller import Caller
from jobs.domain.errors import InvalidRequest
from jobs.domain.outcome.bulk import ALLOWED, Verb
from jobs.domain.states import State
from jobs.services.operate import operate

BECAME: Final = {
    Verb.RETRY: "available again", Verb.CANCEL: "cancelled", Verb.DELETE: "deleted",
}  # fmt: skip


def _on_chosen(verb: Verb) -> Run:
    def run(form: QueryDict, who: Caller) -> str:
        ids = list(dict.fromkeys(form.getlist("id")))
        if not ids:
            raise InvalidRequest("no job is selected: select at least one row")
        if len(ids) > SIZE:
            raise InvalidRequest.field("id", f"may name at most {SIZE} jobs", len(ids))
        return _outcome(verb, *operate.some(verb, ids, who))

    return run


def _outcome(verb: Verb, done: list[str], why: Mapping[str, str]) -> str:
    """Describe the outcome for the chosen jobs, with the states of the skipped jobs."""
    jobs = "1 job is" if len(done) == 1 else f"{len(done)} jobs are"
    text = f"{jobs} {BECAME[verb]}."
    if not why:
        return text
    states = sorted(set(why.values()))
    reasons = ", ".join(state.replace("not_found", "deleted") for state in states)
    return f"{text} {len(why)} unchanged, because of the state: {reasons}."


_CHOSEN: Final = {
    Verb.RETRY: Action(
        "retry-chosen", OPERATIONS[Verb.RETRY], _on_chosen(Verb.RETRY), "Retry"
    ),
    Verb.CANCEL: Action(
        "cancel-chosen", OPERATIONS[Verb.CANCEL], _on_chosen(Verb.CANCEL), "Cancel", "danger"
    ),
    Verb.DELETE: Action(
        "delete-chosen", OPERATIONS[Verb.DELETE], _on_chosen(Verb.DELETE), "Delete", "danger"
    ),
}  # fmt: skip
ACTIONS: Final = tuple(_CHOSEN.values())


def choices(wanted: JobFilter, request: HttpRequest) -> list[tuple[str, str, str]]:
    """Return the buttons below a list for the states of its jobs: action, label and kind."""
    state = State.DISCARDED if wanted.dead else State(wanted.state) if wanted.state else None
    return [
        (one.name, one.label, one.kind)
        for verb, one in _CHOSEN.items()
        if (state is None or state in ALLOWED[verb]) and may(request, one.permit)
    ]
