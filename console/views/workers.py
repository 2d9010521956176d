"""Workers: who lives, what each holds, directives."""

from typing import Any

from console import queries
from console.pages import Page
from jobs.conf import conf

MOST = 500


class Workers(Page):
    """Workers, those that ended on request."""

    template_name = "ojs/console/workers.html"
    section, title = "workers", "Workers"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the workers."""
        with_ended = self.request.GET.get("ended") == "1"
        found = queries.workers(conf().worker_silence_ms, with_ended=with_ended, size=MOST + 1)
        return super().get_context_data(
            workers=found[:MOST], is_longer=len(found) > MOST, with_ended=with_ended, **kwargs
        )
