"""Versions of jobs: what is sent, accepted and held, and who is tried out with how much."""

from typing import Any

from django.http import Http404

from console.pages import Page
from console.versions import RulesCard, rule_lines
from jobs.domain.envelope import MAX_TYPE, TYPE_PATTERN
from jobs.services.audit import done_to
from versioning.services import routing, types
from versioning.services.observed import observed
from versioning.services.versions import versions

SIZE = 50
LATEST = 10  # changes that are listed


class Versions(Page):
    """Types by name, a page at a time."""

    template_name = "ojs/console/versions.html"
    permission_required = "ojs_versioning.view_routing"
    section, title = "versions", "Versions"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read one page; a fixed number of statements."""
        containing = self.request.GET.get("type", "").replace("\x00", "").strip()
        raw = self.request.GET.get("page", "")
        number = max(1, int(raw)) if raw.isdecimal() and len(raw) < 5 else 1  # noqa: PLR2004 - digits
        lines, total = types.page(containing=containing, limit=SIZE, offset=(number - 1) * SIZE)
        return super().get_context_data(
            rows=[(line, RulesCard(line.rules) if line.rules else None) for line in lines],
            containing=containing,
            previous=number - 1 if number > 1 else None,
            following=number + 1 if number * SIZE < total else None,
            **kwargs,
        )


class VersionsOfType(Page):
    """One type: its rules, how its versions do, and what waits of each."""

    template_name = "ojs/console/versions_of_type.html"
    permission_required = "ojs_versioning.view_routing"
    section = "versions"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read all about the type."""
        job_type = kwargs["job_type"]
        if len(job_type) > MAX_TYPE or not TYPE_PATTERN.fullmatch(job_type):
            raise Http404
        loads, row = versions(job_type), routing.find(job_type)
        seen = None if row is None else observed(row)
        return super().get_context_data(
            **{
                "title": job_type,
                "loads": loads,
                "rules": None if row is None else RulesCard(row),
                "lines": [] if row is None or seen is None else rule_lines(row, seen),
                "p_value": seen and seen.p_value,
                "rollbacks": types.rollbacks(job_type, limit=LATEST),
                "changes": done_to(job_type, "routing", limit=LATEST),
                **kwargs,
            }
        )
