"""The actions of operators on pools by button."""

from typing import Final

from django.http import QueryDict

from console.actions.action import Action
from jobs.domain.access.caller import Caller
from scheduling.services import pools


def _delete(form: QueryDict, who: Caller) -> str:
    name = form.get("id", "")
    pools.delete(name, who, force=form.get("force") == "1")
    return f"Pool {name} is deleted. Its queues are open to all workers."


ACTIONS: Final = (
    Action("pool-delete", "pools.delete", _delete),
)  # fmt: skip
