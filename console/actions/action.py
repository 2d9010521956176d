"""An action of operators: a button of a page, its permit, and the function behind it."""

from collections.abc import Callable
from dataclasses import dataclass

from django.http import QueryDict

from console.shown import Secret
from jobs.domain.access.caller import Caller

# (form, caller) -> message or secret; keeps to the caller's tenant
Run = Callable[[QueryDict, Caller], str | Secret]


@dataclass(frozen=True, slots=True)
class Action:
    """An action, which `console/views/act.py` runs by a POST.

    With `audit`, the dispatcher writes this audit entry about the `id` of the form, in one
    transaction with the action. Otherwise the function or its service writes the entry.
    """

    name: str  # in the path
    permit: str
    run: Run
    label: str = ""  # of the button; empty: the page has a form of its own
    kind: str = ""  # class of the button
    ask: str = ""  # question before the action runs; empty: the label
    audit: str = ""
    needs_reason: bool = False  # the dialog asks for it, and no action runs without
    further: Callable[[QueryDict], str | None] = lambda _: None  # another permit, by the form
