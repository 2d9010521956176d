"""The previews of a purge, and of the deletion of a queue or a tenant, with their forms."""

from typing import Any

from django.http import Http404

from console import tasks, touched
from console.access import may
from console.actions.queues import PURGED
from console.views.base import PageView
from jobs.domain.errors import NotFound
from jobs.domain.outcome.bulk import ALLOWED, Verb
from jobs.domain.states import WAITING, State
from jobs.services.operate.queue_removal import KEPT
from jobs.services.operate.queues import stats


class QueueRemove(PageView):
    """The jobs of a queue; the forms that purge and delete it."""

    template_name = "ojs/console/queue_remove.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the jobs; a fixed number of statements. Raises Http404."""
        name = kwargs["name"].replace("\x00", "")
        try:
            found = stats(name)
        except NotFound as problem:
            raise Http404 from problem
        return super().get_context_data(
            **{
                "queue": found,
                "touched": touched.of_queue(name, found.jobs),
                "states": [(state, found.jobs[state], state in WAITING) for state in PURGED],
                "live": found.depth + found.jobs[State.ACTIVE],
                "is_kept": name == KEPT,
                "operations": tasks.operations(),
                "title": f"Purge or delete {name}",
                **kwargs,
            }
        )


class TenantRemove(PageView):
    """The live jobs of a tenant; the form that deletes it."""

    template_name = "ojs/console/tenant_remove.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the jobs; a fixed number of statements. Raises Http404."""
        from tenancy.domain.errors import TenantKept  # noqa: PLC0415 - the app may be absent
        from tenancy.services import tenants  # noqa: PLC0415 - the app may be absent

        name = kwargs["tenant_id"]
        try:
            row = tenants.find(name)
        except NotFound as problem:
            raise Http404 from problem
        obstacle = tenants.obstacle(row)
        states = [state for state in State if state in ALLOWED[Verb.CANCEL]]
        return super().get_context_data(
            row=row,
            obstacle=obstacle,
            is_kept=isinstance(obstacle, TenantKept),
            touched=touched.of_tenant(name, states),
            may_force=may(self.request, "tenants.delete_with_jobs"),
            title=f"Delete tenant {name}",
            **kwargs,
        )
