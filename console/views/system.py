"""The system: loops and their leaders, the database, versions, settings in force."""

from typing import Any

from console.system import system
from console.views.base import PageView


class System(PageView):
    """A page of facts, without actions."""

    template_name = "ojs/console/system.html"
    title = "System"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the state of the system; a fixed number of statements."""
        return super().get_context_data(system=system(), **kwargs)
