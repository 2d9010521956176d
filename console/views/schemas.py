"""Schemas of job types: the form of arguments, and the changes between versions."""

import json
from difflib import unified_diff
from typing import Any

from django.http import Http404

from console.views.base import PageView
from jobs.domain.errors import NotFound
from jobs.domain.wire import jsonio
from versioning.conf import conf
from versioning.models import Schema
from versioning.services import schemas

SIZE = 50
LONGEST_DIFF = 3_000  # lines; the comparison of more lines takes too long


class Schemas(PageView):
    """Types by name with their latest schemas, a page at a time."""

    template_name = "ojs/console/schemas.html"
    title = "Schemas"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page; a fixed number of statements."""
        containing = self.request.GET.get("type", "").replace("\x00", "").strip()
        raw = self.request.GET.get("page", "")
        number = max(1, int(raw)) if raw.isdecimal() and len(raw) < 5 else 1  # noqa: PLR2004 - digits
        rows, total = schemas.page(containing=containing, limit=SIZE, offset=(number - 1) * SIZE)
        numbers = schemas.numbers_of_versions([row.type for row in rows])
        return super().get_context_data(
            rows=[(row, numbers[row.type]) for row in rows],
            total=total,
            containing=containing,
            previous=number - 1 if number > 1 else None,
            following=number + 1 if number * SIZE < total else None,
            setting=conf().schema_validation,
            **kwargs,
        )


class SchemaPage(PageView):
    """A type: its versions, the document of a version, and the difference to another version."""

    template_name = "ojs/console/schema.html"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read all versions of the type."""
        job_type = kwargs["job_type"].replace("\x00", "")
        try:
            rows = schemas.versions(job_type)
        except NotFound as problem:
            raise Http404 from problem
        chosen = _named(rows, self.request.GET.get("version")) or rows[0]
        before = _named(rows, self.request.GET.get("from")) or _before(rows, chosen)
        found = schemas.compared(before, chosen) if before is not None else None
        kwargs |= {"title": job_type}
        return super().get_context_data(
            rows=rows,
            chosen=chosen,
            before=before,
            difference=found,
            changes=[schemas.shown(one) for one in found.changes] if found else [],
            lines=_lines(before, chosen) if before is not None else [],
            document=_pretty(chosen),
            mode=conf().schema_compatibility_mode,
            setting=conf().schema_validation,
            **kwargs,
        )


def _named(rows: list[Schema], version: str | None) -> Schema | None:
    return next((row for row in rows if row.version == version), None)


def _before(rows: list[Schema], chosen: Schema) -> Schema | None:
    return next(iter(rows[rows.index(chosen) + 1 :]), None)


def _pretty(row: Schema) -> str:
    return json.dumps(jsonio.loads(row.document.encode()), indent=2, ensure_ascii=False)


def _lines(before: Schema, after: Schema) -> list[tuple[str, str]]:
    """Return the changed lines with their context, each with its kind."""
    old, new = _pretty(before).splitlines(), _pretty(after).splitlines()
    if len(old) + len(new) > LONGEST_DIFF:
        return []
    kinds = {"+": "added", "-": "removed", "@": "place"}
    differing = list(unified_diff(old, new, lineterm=""))[2:]  # without the names of files
    return [(kinds.get(line[0], ""), line) for line in differing]
