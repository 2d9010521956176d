"""The actions of operators on pools by button."""

from collections.abc import Callable, Mapping

from django.http import QueryDict

from jobs.domain.caller import Caller
from scheduling.services import pools


def _delete(form: QueryDict, who: Caller) -> str:
    name = form.get("id", "")
    pools.delete(name, who, force=form.get("force") == "1")
    return f"Pool {name} is deleted: no policy governs its workers, and its queues are open to all."


ACTIONS: Mapping[str, Callable[[QueryDict, Caller], str]] = {
    "pool-delete": _delete,
}
