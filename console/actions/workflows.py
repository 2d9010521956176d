"""The actions of operators on a workflow."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action
from jobs.domain.access.caller import Caller
from jobs.domain.errors import NotFound
from workflows.services.cancel import cancel
from workflows.services.show import flow


def _cancel(form: QueryDict, who: Caller) -> str:
    name = form.get("id", "")
    if who.tenant is not None and flow(name).tenant != who.tenant:
        raise NotFound.of("workflow", name)
    done = cancel(name, who.name)
    return f"The workflow is cancelled, with {done.steps_cancelled} steps. Active jobs finish."


ACTIONS: Final = (
    Action(
        "cancel-workflow", "workflows.cancel", _cancel, "Cancel", "danger",
        "Cancel this workflow? Active jobs finish; no further step starts.",
        audit="workflow.cancelled",
    ),
)  # fmt: skip
