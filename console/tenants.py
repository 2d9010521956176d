"""Tenants as the pages show them: who is loud, what they get and what they are entitled to."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.utils import timezone

from console import queries
from console.chart import Hour, last_hour
from console.queries import TenantPlace, TenantSearch
from jobs.domain.durations import format_duration
from jobs.domain.states import State
from jobs.services.operate.queues import QueueStats, named_stats
from tenancy.conf import conf
from tenancy.domain.noise import Reason, Signal
from tenancy.domain.tenant import Standing
from tenancy.domain.throttle import Throttled
from tenancy.forms import LABELS
from tenancy.models import Tenant
from tenancy.services import noise, stats, tenants
from tenancy.services.tenant_cache import limits_of, terms_of
from tenancy.services.watch import SURVEY_MINUTES

SIZE = 50
LOOKED = 20_000  # tenants that a search walks over for one page
MINUTES = SURVEY_MINUTES  # that shares and rates are counted over
MUCH = 0.5  # of all that do
QUEUES = 100
PANEL = 5  # loud tenants that stand above the list
PLACE = re.compile(r"([0-9]{1,15})~(.{1,255})")
# the limits in the words of a bar: how many of how many
HELD = {
    "max_concurrency": "active",
    "max_enqueue_rate": "new",
    "max_queue_depth": "waiting",
    "max_scheduled": "scheduled",
    "max_queues": "queues",
}


@dataclass(frozen=True, slots=True)
class TenantFilter:
    """What the operator asked for; empty text is any."""

    name: str = ""  # a part of the id or the name
    state: str = ""
    loud: str = ""  # 1: those alone
    sort: str = ""  # id, else the loudest first
    after: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "TenantFilter":
        """Read a query string; what is not known is left out."""
        chosen = {name: given.get(name, "").replace("\x00", "").strip() for name in FIELDS}
        known = {"state": [str(one) for one in Standing], "loud": ["1"], "sort": ["id"]}
        chosen |= {name: chosen[name] * (chosen[name] in known[name]) for name in known}
        return cls(**chosen)

    @property
    def is_empty(self) -> bool:
        """Whether these are the first of all tenants, the loudest first."""
        return self == TenantFilter()

    def link(self, **changed: str) -> str:
        """Return the query string of this filter with something changed, from its beginning."""
        wanted = replace(self, **{"after": "", **changed})
        fields = {name: getattr(wanted, name) for name in FIELDS}
        return urlencode({name: value for name, value in fields.items() if value})

    def search(self, loud: Sequence[str]) -> TenantSearch:
        """Return what the statement is asked."""
        place = PLACE.fullmatch(self.after)
        return TenantSearch(
            containing=self.name,
            state=self.state or None,
            loud=loud,
            only_loud=self.loud == "1",
            by_id=self.sort == "id",
            after_rank=int(place[1]) if place else None,
            after_id=place[2] if place else None,
        )


FIELDS = tuple(TenantFilter.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Use:
    """A limit of a tenant and how much of it is used."""

    name: str
    most: int
    held: int
    per: str = ""  # the period of a rate

    @property
    def words(self) -> str:
        """Say what is counted."""
        return HELD.get(self.name, self.name)

    @property
    def part(self) -> float:
        """Return how much of it is used, 1 for all; a limit of none is always reached."""
        return self.held / self.most if self.most else 1.0

    @property
    def is_reached(self) -> bool:
        """Whether there is no room."""
        return self.held >= self.most


@dataclass(frozen=True, slots=True)
class TenantLine:
    """A tenant as lists and its own page show it."""

    row: Tenant
    place: TenantPlace
    summary: stats.Summary
    uses: Sequence[Use]

    @property
    def weight(self) -> float:
        """What it weighs in the shares, less what a throttle takes."""
        return terms_of(self.row).effective_weight

    @property
    def got(self) -> float | None:
        """Return its part of all starts; None: there were none."""
        # all of them are counted every few seconds only
        all_ = self.place.all_started
        return min(1.0, self.place.started / all_) if all_ else None

    @property
    def due(self) -> float | None:
        """Return the part it is entitled to; None: it has no job to hand out."""
        held = self.place
        return min(1.0, self.weight / held.weights) if held.is_eligible and held.weights else None

    @property
    def waiting(self) -> int:
        """Return how many jobs could start."""
        return self.summary.jobs[State.AVAILABLE]

    @property
    def active(self) -> int:
        """Return how many run."""
        return self.summary.jobs[State.ACTIVE]

    @property
    def enqueued(self) -> float:
        """Return its new jobs per minute."""
        return self.place.enqueued / MINUTES

    @property
    def processed(self) -> float:
        """Return the jobs that completed per minute."""
        return self.place.completed / MINUTES

    @property
    def failed(self) -> float:
        """Return the attempts that failed per minute."""
        return self.place.failed / MINUTES

    @property
    def throttle(self) -> Throttled | None:
        """What is taken from it for a while."""
        return self.summary.throttle

    @property
    def reached(self) -> list[Use]:
        """Return the limits without room."""
        return [use for use in self.uses if use.is_reached]

    @property
    def settable(self) -> list[tuple[str, str]]:
        """Return the limits that the short form sets, a rate by the minute, with what they are."""
        now = {use.name: f", now {use.most}{use.per and f' in {use.per}'}" for use in self.uses}
        return [(name, f"{label}{now.get(name, '')}") for name, label in LABELS.items()]

    @property
    def is_suspended(self) -> bool:
        """Whether an operator holds all its jobs."""
        return bool(self.row.state == Standing.SUSPENDED)

    @property
    def reasons(self) -> list[str]:
        """Say what stands out."""
        return list(self._reasons())

    def _reasons(self) -> Iterator[str]:
        held = self.place
        for signal in self.summary.signals:
            yield in_words(signal)
        if throttle := self.summary.throttle:
            took = f"{throttle.effective:g} instead of {throttle.original:g}"
            yield f"throttled: {throttle.action} {took}"
        if held.all_enqueued and held.enqueued > MUCH * held.all_enqueued:
            yield f"{min(1.0, held.enqueued / held.all_enqueued):.0%} of all new jobs"
        if self.got is not None and self.got > MUCH:
            entitled = "" if self.due is None else f", entitled to {self.due:.0%}"
            yield f"{self.got:.0%} of all starts{entitled}"
        for use in self.reached:
            yield f"{use.held} of {use.most} {use.words}: no room"


def in_words(signal: Signal) -> str:
    """Say what a tenant does more than others."""
    value, others = signal.value, signal.compared_with
    if signal.reason is Reason.QUEUE_DEPTH:
        return f"{value:.0f} wait, others: {others:.0f}"
    if signal.reason is Reason.ENQUEUE_RATE:
        return f"{value * 60:.0f} new jobs a minute, others: {others * 60:.0f}"
    if signal.reason is Reason.ACTIVE:
        return f"{value:.0f} of {others:.0f} active jobs"
    return f"{value:.0%} of its attempts fail, others: {others:.0%}"


@dataclass(frozen=True, slots=True)
class TenantPage:
    """One page of the list; `next` is the query string of the next one, empty for none."""

    lines: list[TenantLine]
    next: str

    @property
    def loud(self) -> list[TenantLine]:
        """Return the few that stand out."""
        return [line for line in self.lines if line.place.is_loud][:PANEL]


def page(wanted: TenantFilter) -> TenantPage:
    """Read a page of the list; a fixed number of statements."""
    loud = noise.loud()
    found, further = queries.tenants(
        wanted.search(loud), default=conf().default, minutes=MINUTES, size=SIZE + 1, looked=LOOKED
    )
    following = ""
    if len(found) > SIZE:
        following = wanted.link(after=f"{found[SIZE - 1].rank}~{found[SIZE - 1].id}")
    elif further is not None:
        following = wanted.link(after=f"0~{further}")
    return TenantPage(_lines([one.id for one in found[:SIZE]], loud), following)


def line_of(tenant_id: str) -> TenantLine:
    """Read one tenant. Raises NotFound."""
    row = tenants.find(tenant_id)
    return _lines([tenant_id], noise.loud(), [row])[0]


def _lines(
    ids: Sequence[str], loud: Sequence[str], rows: Sequence[Tenant] = ()
) -> list[TenantLine]:
    by_id = {row.id: row for row in rows or tenants.named(ids)}
    listed = [by_id[one] for one in ids if one in by_id]  # others were deleted since
    places = queries.tenant_places([row.id for row in listed], MINUTES)
    counted = stats.summaries(listed)
    used = stats.used(listed, counted)
    return [
        TenantLine(row, _placed(places[row.id], loud), counted[row.id], _uses(row, used[row.id]))
        for row in listed
    ]


def _placed(place: TenantPlace, loud: Sequence[str]) -> TenantPlace:
    return place._replace(is_loud=place.is_loud or place.id in loud)


def _uses(row: Tenant, used: Mapping[str, tuple[int, int]]) -> list[Use]:
    rate = limits_of(row).max_enqueue_rate
    per = {"max_enqueue_rate": format_duration(rate.period_ms)} if rate else {}
    return [Use(name, most, held, per.get(name, "")) for name, (most, held) in used.items()]


def left(tenant_id: str) -> dict[State, int]:
    """Count the jobs that are left of a tenant that is not there any more, by state."""
    return stats.summaries([Tenant(id=tenant_id)])[tenant_id].jobs


@dataclass(frozen=True, slots=True)
class Detail:
    """What a tenant's own page shows besides its line."""

    hour: Hour
    queues: list[QueueStats]
    has_more_queues: bool


def detail(tenant_id: str) -> Detail:
    """Read the last hour and the queues of a tenant; a fixed number of statements."""
    found, total = named_stats(tenant=tenant_id, limit=QUEUES, offset=0)
    return Detail(last_hour(timezone.now(), tenant_id), found, total > len(found))
