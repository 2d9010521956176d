"""The event record: the latest events by filter, with live updates."""

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.urls import reverse

from console.views.base import PageView
from jobs.domain.record.events import NAMES
from jobs.domain.wire.ids import is_id
from jobs.services.record.events import EventFilter, event_name, is_excluded, latest

SIZE = 50
MOST_PAGES = 200  # the API reaches further back


@dataclass(frozen=True, slots=True)
class Asked:
    """The filter as the operator typed it; empty text is any. `type` may end in `*`."""

    type: str = ""
    queue: str = ""
    tenant: str = ""
    job: str = ""

    @classmethod
    def read(cls, given: QueryDict) -> "Asked":
        """Read a query string."""
        fields = cls.__dataclass_fields__
        return cls(**{name: given.get(name, "").strip().replace("\x00", "") for name in fields})

    @property
    def is_empty(self) -> bool:
        """Return whether nothing is filtered."""
        return self == Asked()

    def filter(self) -> EventFilter:
        """Return the filter of the record."""
        return EventFilter(
            types=(self.type,) if self.type else (),
            queues=(self.queue,) if self.queue else (),
            tenant=self.tenant or None,
            job_id=self.job or None,
        )

    def link(self, **more: object) -> str:
        """Return the query string of this filter."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return urlencode({name: value for name, value in {**fields, **more}.items() if value})


class Events(PageView):
    """Events by filter, a page at a time; the first page updates itself."""

    template_name = "ojs/console/events.html"
    title = "Events"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read a page."""
        asked = Asked.read(self.request.GET)
        if self.tenant:
            asked = replace(asked, tenant=self.tenant)
        text = self.request.GET.get("page", "1")
        number = min(MOST_PAGES, max(1, int(text))) if text.isdecimal() and len(text) < 6 else 1  # noqa: PLR2004
        is_odd = bool(asked.job) and not is_id(asked.job)
        found, has_more = (
            ([], False)
            if is_odd
            else latest(asked.filter(), limit=SIZE, offset=(number - 1) * SIZE)
        )
        names = sorted(name for kind, name in NAMES.items() if not is_excluded(kind))
        return super().get_context_data(
            asked=asked,
            rows=[(event_name(event), event) for event in found],
            names=names,
            is_odd=is_odd,
            stream="" if is_odd or number > 1 else self._stream(asked),
            first_link=asked.link() if number > 1 else "",
            next_link=asked.link(page=number + 1) if has_more and number < MOST_PAGES else "",
            **kwargs,
        )

    def _stream(self, asked: Asked) -> str:
        given = {
            "types": asked.type, "queue": asked.queue, "tenant": asked.tenant, "job_id": asked.job,
        }  # fmt: skip
        query = urlencode({name: value for name, value in given.items() if value})
        return f"{reverse('ojs-events-stream')}?{query}"
