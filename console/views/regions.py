"""Regions: the health of each region, and the jobs of all regions."""

from dataclasses import dataclass
from math import ceil
from typing import Any

from console.views.base import PageView
from federation.domain.breaker import State as Breaker
from federation.domain.health import Health
from federation.models import Region
from federation.services.health.minutes import Hour, last_hour
from federation.services.registry.configure import rows
from federation.services.registry.regions import registry
from federation.services.registry.registry import EPOCH
from federation.services.replication.forget_region import gone
from federation.services.replication.lag import lags_ms
from federation.services.routing.search import JobSearch, search
from jobs.domain.states import State
from jobs.domain.wire.ids import is_id

BADGES = {"healthy": "completed", "unhealthy": "discarded", "unknown": "paused"}
CIRCUITS = {Breaker.CLOSED: "completed", Breaker.HALF_OPEN: "retryable", Breaker.OPEN: "discarded"}
FIELDS = ("id", "state", "queue", "type")


@dataclass(frozen=True, slots=True)
class RegionLine:
    """A region in the list."""

    row: Region
    health: Health
    is_local: bool
    lag_ms: int | None
    hour: Hour | None  # None: it was not probed

    @property
    def badge(self) -> str:
        """Return the colour of its status."""
        return BADGES[self.health.status]

    @property
    def circuit(self) -> str:
        """Return the colour of its breaker."""
        return CIRCUITS[self.health.breaker]

    @property
    def range(self) -> tuple[float, float] | None:
        """Return the lowest and highest latency of the last hour, None without measurements."""
        known = self.hour.measured if self.hour else []
        return (min(known), max(known)) if known else None

    @property
    def load(self) -> Any:
        """Return its load, None if it was not reported."""
        return getattr(self.row, "load", None)

    @property
    def ask_drain(self) -> str:
        """Return the question before it is drained, with the jobs that it keeps."""
        kept = "Its stored jobs stay."
        if self.load:
            kept = f"Its {self.load.available} waiting and {self.load.active} active jobs stay."
        return f"Drain region {self.row.id}? The router sends it no new jobs. {kept}"

    @property
    def retry_ms(self) -> int:
        """Return the milliseconds until the breaker permits a call, in whole seconds."""
        return ceil(self.health.retry_in_s) * 1000


class Regions(PageView):
    """The registry as this server's router sees it."""

    template_name = "ojs/console/regions.html"
    title = "Regions"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Read the regions."""
        known, lags, hours = registry(), lags_ms(), last_hour()
        lines = [
            RegionLine(
                row,
                known.health.get(row.id, Health()),
                row.id == known.local_region,
                lags.get(row.id),
                hours.get(row.id),
            )
            for row in rows()
        ]
        return super().get_context_data(
            lines=lines,
            config=known.config,
            problem=known.problem,
            gone=gone(),
            **kwargs,
        )


class RegionJobs(PageView):
    """Jobs of all regions by filter."""

    template_name = "ojs/console/region_jobs.html"
    title = "Jobs of all regions"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Ask all regions, as soon as the form was sent."""
        given = self.request.GET
        chosen = {name: given.get(name, "").replace("\x00", "").strip() for name in FIELDS}
        states = [str(one) for one in State]
        chosen["state"] *= chosen["state"] in states
        is_wrong = bool(chosen["id"]) and not is_id(chosen["id"])
        is_asked = "find" in given and not is_wrong
        answers = search(_wanted(chosen)) if is_asked else []
        found = [job for answer in answers for job in answer.jobs]
        found.sort(key=lambda job: job.created_at or EPOCH, reverse=True)
        return super().get_context_data(
            chosen=chosen,
            states=states,
            is_asked=is_asked,
            is_wrong=is_wrong,
            answers=answers,
            jobs=found,
            silent=[answer for answer in answers if answer.error],
            **kwargs,
        )


def _wanted(chosen: dict[str, str]) -> JobSearch:
    return JobSearch(
        id=chosen["id"] or None,
        state=State(chosen["state"]) if chosen["state"] else None,
        queue=chosen["queue"][:255] or None,
        type=chosen["type"][:255] or None,
    )
