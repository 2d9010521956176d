"""Rate limits: their policies, their use, and overrides."""

import re
from typing import Any
from urllib.parse import urlencode

from console.views.base import PageView
from jobs.services.lanes.limits import states

SIZE = 50
PAGE = re.compile(r"[1-9][0-9]{0,2}")


class Limits(PageView):
    """Limits by key, a page at a time, and a form to override a limit."""

    template_name = "ojs/console/limits.html"
    title = "Rate limits"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page; a fixed number of statements."""
        containing = self._text("name")
        raw = self.request.GET.get("page", "")
        number = int(raw) if PAGE.fullmatch(raw) else 1
        found, total = states(
            self.tenant, limit=SIZE, offset=(number - 1) * SIZE, containing=containing
        )
        return super().get_context_data(
            limits=found,
            total=total,
            containing=containing,
            chosen={name: self._text(name) for name in ("key", "tenant")},
            previous_link=self._link(containing, number - 1) if number > 1 else "",
            next_link=self._link(containing, number + 1) if number * SIZE < total else "",
            **kwargs,
        )

    def _text(self, name: str) -> str:
        return self.request.GET.get(name, "").replace("\x00", "").strip()

    def _link(self, containing: str, number: int) -> str:
        return urlencode({"name": containing, "page": number})
