"""Tenants on the pages: noisy tenants, shares and entitlements."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from console import queries
from console.queries import TenantPlace, TenantSearch
from console.times import span
from jobs.domain.states import State
from jobs.services.operate.queues import QueueStats, named_stats
from tenancy.conf import conf
from tenancy.domain.noise import Reason, Signal
from tenancy.domain.tenant import Standing
from tenancy.domain.throttle import Throttled
from tenancy.forms import LABELS
from tenancy.models import Tenant
from tenancy.services import noise, stats, tenants
from tenancy.services.tenant_cache import limits_of, policy_of
from tenancy.services.watch import SURVEY_MINUTES

SIZE = 50
LANES = 1000  # offered lanes up to which a page sums the weights itself
LOOKED = 20_000  # tenants that a search reads for one page
MINUTES = SURVEY_MINUTES  # period of the counted shares and rates
MUCH = 0.5  # part of the sum of all tenants
QUEUES = 100
_PERIOD = f"in the last {MINUTES} minutes"
PANEL = 5  # noisy tenants above the list
PLACE = re.compile(r"([0-9]{1,15})~(.{1,255})")
# names of the limits in the text of a bar
HELD = {
    "max_concurrency": "active",
    "max_enqueue_rate": "new",
    "max_queue_depth": "available and scheduled",
    "max_scheduled": "scheduled",
    "max_queues": "queues",
}


@dataclass(frozen=True, slots=True)
class TenantFilter:
    """The filter as the operator typed it; empty text is any."""

    name: str = ""  # a part of the id or the name
    state: str = ""
    noisy: str = ""  # 1: noisy tenants only
    sort: str = ""  # `id`; otherwise noisy tenants first
    after: str = ""

    @classmethod
    def read(cls, given: Mapping[str, str]) -> "TenantFilter":
        """Read a query string; ignore unknown values."""
        chosen = {name: given.get(name, "").replace("\x00", "").strip() for name in FIELDS}
        allowed = {"state": [str(one) for one in Standing], "noisy": ["1"], "sort": ["id"]}
        chosen |= {name: chosen[name] * (chosen[name] in allowed[name]) for name in allowed}
        return cls(**chosen)

    @property
    def is_empty(self) -> bool:
        """Return whether this is the first page of all tenants, noisy tenants first."""
        return self == TenantFilter()

    def link(self, **changed: str) -> str:
        """Return the query string of the first page of this filter, with changes."""
        wanted = replace(self, **{"after": "", **changed})
        fields = {name: getattr(wanted, name) for name in FIELDS}
        return urlencode({name: value for name, value in fields.items() if value})

    def search(self, noisy: Sequence[str]) -> TenantSearch:
        """Return the parameters of the statement."""
        place = PLACE.fullmatch(self.after)
        return TenantSearch(
            containing=self.name,
            state=self.state or None,
            noisy=noisy,
            only_noisy=self.noisy == "1",
            by_id=self.sort == "id",
            after_rank=int(place[1]) if place else None,
            after_id=place[2] if place else None,
        )


FIELDS = tuple(TenantFilter.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Use:
    """A limit of a tenant and its use."""

    name: str
    most: int
    held: int
    per: str = ""  # the period of a rate

    @property
    def words(self) -> str:
        """Return the name of the counted items."""
        return HELD.get(self.name, self.name)

    @property
    def label(self) -> str:
        """Return the name of the limit, as in the form of the tenant."""
        if self.per:
            return f"New jobs in {self.per}"
        return LABELS.get(self.name, self.name)

    @property
    def part(self) -> float:
        """Return the used part, 1 for all; a limit of 0 is always used up."""
        return self.held / self.most if self.most else 1.0

    @property
    def is_reached(self) -> bool:
        """Return whether the limit is used up."""
        return self.held >= self.most


@dataclass(frozen=True, slots=True)
class TenantLine:
    """A tenant in lists and on its own page."""

    row: Tenant
    place: TenantPlace
    summary: stats.Summary
    uses: Sequence[Use]

    @property
    def weight(self) -> float:
        """Return its weight, reduced by a throttle."""
        return policy_of(self.row).effective_weight

    @property
    def got(self) -> float | None:
        """Return its part of all starts; None without starts."""
        # the sum is renewed only every few seconds
        all_ = self.place.all_started
        return min(1.0, self.place.started / all_) if all_ else None

    @property
    def due(self) -> float | None:
        """Return the part to which it is entitled now; None if no waiting job may start."""
        held = self.place
        return min(1.0, self.weight / held.weights) if held.is_eligible and held.weights else None

    @property
    def waiting(self) -> int:
        """Return the number of available jobs."""
        return self.summary.jobs[State.AVAILABLE]

    @property
    def active(self) -> int:
        """Return the number of active jobs."""
        return self.summary.jobs[State.ACTIVE]

    @property
    def enqueued(self) -> float:
        """Return its new jobs per minute."""
        return self.place.enqueued / MINUTES

    @property
    def processed(self) -> float:
        """Return its completed jobs per minute."""
        return self.place.completed / MINUTES

    @property
    def failed(self) -> float:
        """Return its failed attempts per minute."""
        return self.place.failed / MINUTES

    @property
    def throttle(self) -> Throttled | None:
        """Return its throttle."""
        return self.summary.throttle

    @property
    def reached(self) -> list[Use]:
        """Return the limits that are used up."""
        return [use for use in self.uses if use.is_reached]

    @property
    def settable(self) -> list[tuple[str, str]]:
        """Return name and label of the limits in the short form; it sets a rate per minute."""
        now = {use.name: f", now {use.most}{use.per and f' in {use.per}'}" for use in self.uses}
        return [(name, f"{label}{now.get(name, '')}") for name, label in LABELS.items()]

    @property
    def is_suspended(self) -> bool:
        """Return whether an operator has suspended it."""
        return bool(self.row.state == Standing.SUSPENDED)

    @property
    def reasons(self) -> list[str]:
        """Return its unusual facts in words."""
        return list(self._reasons())

    def _reasons(self) -> Iterator[str]:
        held = self.place
        for signal in self.summary.signals:
            yield in_words(signal)
        if throttle := self.summary.throttle:
            took = f"{throttle.effective:g} instead of {throttle.original:g}"
            yield f"throttled: {throttle.action} {took}"
        if held.all_enqueued and held.enqueued > MUCH * held.all_enqueued:
            part = min(1.0, held.enqueued / held.all_enqueued)
            yield f"{100 * part:.0f} % of all new jobs {_PERIOD}"
        if self.got is not None and self.got > MUCH:
            entitled = "" if self.due is None else f", now entitled to {100 * self.due:.0f} %"
            yield f"{100 * self.got:.0f} % of all starts {_PERIOD}{entitled}"
        for use in self.reached:
            used = f"{use.held} of {use.most} {use.words}: limit reached"
            yield used if use.most else f"limit of 0 {use.words}"


def in_words(signal: Signal) -> str:
    """Describe in words how a tenant exceeds the other tenants; rates are of a minute."""
    value, others = signal.value, signal.compared_with
    if signal.reason is Reason.QUEUE_DEPTH:
        return f"{value:,.0f} available jobs, median of the other tenants: {others:,.0f}"
    if signal.reason is Reason.ENQUEUE_RATE:
        said = f"{value * 60:,.0f} new jobs in the last minute"
        return f"{said}, mean of the other tenants: {others * 60:,.0f}"
    if signal.reason is Reason.ACTIVE:
        return f"{value:,.0f} of all {others:,.0f} active jobs"
    said = f"{100 * value:.0f} % of its attempts in the last minute failed"
    return f"{said}, mean of the other tenants: {100 * others:.0f} %"


@dataclass(frozen=True, slots=True)
class TenantPage:
    """A page of the list; `next` is the query string of the next page, empty on the last."""

    lines: list[TenantLine]
    next: str

    @property
    def noisy(self) -> list[TenantLine]:
        """Return the first noisy tenants."""
        return [line for line in self.lines if line.place.is_noisy][:PANEL]


def page(wanted: TenantFilter) -> TenantPage:
    """Read a page of the list; a fixed number of statements."""
    noisy = noise.loud()
    found, further = queries.tenants(
        wanted.search(noisy), default=conf().default, minutes=MINUTES, size=SIZE + 1, looked=LOOKED
    )
    following = ""
    if len(found) > SIZE:
        following = wanted.link(after=f"{found[SIZE - 1].rank}~{found[SIZE - 1].id}")
    elif further is not None:
        following = wanted.link(after=f"0~{further}")
    return TenantPage(_lines([one.id for one in found[:SIZE]], noisy), following)


def line_of(tenant_id: str) -> TenantLine:
    """Read one tenant. Raises NotFound."""
    row = tenants.find(tenant_id)
    return _lines([tenant_id], noise.loud(), [row])[0]


def _lines(
    ids: Sequence[str], noisy: Sequence[str], rows: Sequence[Tenant] = ()
) -> list[TenantLine]:
    by_id = {row.id: row for row in rows or tenants.named(ids)}
    listed = [by_id[one] for one in ids if one in by_id]  # deleted tenants are absent
    places = queries.tenant_places([row.id for row in listed], MINUTES, LANES)
    counted = stats.summaries(listed)
    used = stats.used(listed, counted)
    return [
        TenantLine(row, _placed(places[row.id], noisy), counted[row.id], _uses(row, used[row.id]))
        for row in listed
    ]


def _placed(place: TenantPlace, noisy: Sequence[str]) -> TenantPlace:
    return place._replace(is_noisy=place.is_noisy or place.id in noisy)


def _uses(row: Tenant, used: Mapping[str, tuple[int, int]]) -> list[Use]:
    rate = limits_of(row).max_enqueue_rate
    per = {"max_enqueue_rate": span(rate.period_ms)} if rate else {}
    return [Use(name, most, held, per.get(name, "")) for name, (most, held) in used.items()]


def left(tenant_id: str) -> dict[State, int]:
    """Count the remaining jobs of a deleted tenant, by state."""
    return stats.summaries([Tenant(id=tenant_id)])[tenant_id].jobs


@dataclass(frozen=True, slots=True)
class Detail:
    """The content of a tenant's own page, besides its line."""

    queues: list[QueueStats]
    number_of_queues: int

    @property
    def has_more_queues(self) -> bool:
        """Return whether the tenant has further queues."""
        return self.number_of_queues > len(self.queues)


def detail(tenant_id: str) -> Detail:
    """Read the queues of a tenant; a fixed number of statements."""
    found, total = named_stats(tenant=tenant_id, limit=QUEUES, offset=0)
    return Detail(found, total)
