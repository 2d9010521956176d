"""Queues: how much waits, how fast it goes, pause and resume."""

from typing import Any

from console.pages import Page
from jobs.services.queues import all_stats

MOST = 500


class Queues(Page):
    """Every queue with its numbers."""

    template_name = "ojs/console/queues.html"
    section, title = "queues", "Queues"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the queues whose name contains what was typed."""
        containing = self.request.GET.get("name", "").replace("\x00", "").strip()
        found = all_stats(limit=MOST + 1, containing=containing, tenant=self.tenant)
        return super().get_context_data(
            queues=found[:MOST], is_longer=len(found) > MOST, containing=containing, **kwargs
        )
