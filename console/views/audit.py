"""The audit log: who did what, when and why."""

import re
from typing import Any

from console.pages import Page
from jobs.services.audit import entries

SIZE = 50
PAGE = re.compile(r"[1-9][0-9]{0,2}")


class Audit(Page):
    """Entries by action, actor and target, latest first."""

    permission_required = "ojs_jobs.view_audit"
    template_name = "ojs/console/audit.html"
    section, title = "audit", "Audit"
    is_global = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read one page."""
        given = {name: self._text(name) for name in ("action", "actor", "target")}
        raw = self.request.GET.get("page", "")
        number = int(raw) if PAGE.fullmatch(raw) else 1
        found, total = entries(
            action=given["action"], actor=given["actor"], target=given["target"],
            limit=SIZE, offset=(number - 1) * SIZE,
        )  # fmt: skip
        return super().get_context_data(
            entries=found,
            wanted=given,
            is_empty=not any(given.values()),
            number=number,
            has_more=number * SIZE < total,
            **kwargs,
        )

    def _text(self, name: str) -> str:
        return self.request.GET.get(name, "").replace("\x00", "").strip()
