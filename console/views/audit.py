"""The audit log: actor, action, target, time and reason of each entry."""

import re
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from console.views.base import PageView
from console.zones import read_time_in, zone_name
from jobs.services.audit.audit import AuditFilter, page, recorded_actions

SIZE = 50
PLACE = re.compile(r"[1-9][0-9]{0,17}")
OUTCOMES = ("success", "failure", "denied")
NAMES = ("action", "actor", "target")


class Audit(PageView):
    """Entries by action, actor, target, outcome and time, latest first."""

    template_name = "ojs/console/audit.html"
    title = "Audit log"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page."""
        given = {name: self._text(name) for name in (*NAMES, "outcome", "since", "until", "zone")}
        given["zone"] = zone_name(given["zone"]) if given["since"] or given["until"] else ""
        place = self._text("before")
        before = int(place) if PLACE.fullmatch(place) else None
        wanted = AuditFilter(
            **{name: given[name] for name in NAMES},
            outcome=given["outcome"] if given["outcome"] in OUTCOMES else "",
            since=_time(given["since"], given["zone"]),
            until=_time(given["until"], given["zone"]),
        )
        found, following = page(wanted, before=before, size=SIZE)
        link = urlencode({name: value for name, value in given.items() if value})
        next_link = urlencode(
            {**{name: value for name, value in given.items() if value}, "before": following}
        )
        return super().get_context_data(
            entries=found,
            wanted=given,
            outcomes=OUTCOMES,
            actions=recorded_actions(),
            is_empty=not any(given.values()),
            is_first=before is None,
            first_link=link,
            next_link=next_link if following else "",
            **kwargs,
        )

    def _text(self, name: str) -> str:
        return self.request.GET.get(name, "").replace("\x00", "").strip()


def _time(text: str, zone: str) -> datetime | None:
    """Read a time of a form in the time zone that it names; None for other text."""
    try:
        return read_time_in(text, zone)
    except ValueError:
        return None
