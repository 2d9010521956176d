"""Numbers of the whole system, now and over time. Spec: contract 24.1, 24.3, 32.6."""

from datetime import UTC, datetime, timedelta
from typing import Any

from rest_framework.request import Request

from jobs import queries
from jobs.api.admin.queues import visible_queues
from jobs.api.base import OJSView
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import NUMBER, TIME, Schema, array, component, integer, obj, text
from jobs.api.wire.admin import SINCE, chosen, moment, plain
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, Page, admin_page
from jobs.domain.errors import InvalidRequest
from jobs.domain.states import State
from jobs.domain.wire.times import format_time
from jobs.services.health.health import uptime_seconds
from jobs.services.operate.queues import count_queues
from jobs.services.record.rates import (
    Point,
    Rates,
    Spell,
    history,
    jobs_by_state,
    rates,
    rates_of,
    workers_by_standing,
)

PERIODS = {"1m": 60, "5m": 300, "1h": 3600, "1d": 86_400}
DEFAULT_SPAN = timedelta(hours=1)
MOST_POINTS = 1500
QUEUE_NUMBERS = ("total", "active", "paused")
WORKER_NUMBERS = ("total", "running", "quiet", "stale")
RATES = ("processed_per_minute", "failed_per_minute", "avg_latency_ms")
WHOLE_RATES = ("enqueued_per_min", "completed_per_min", "failed_per_min")
BOTTLENECK: Schema = obj(
    {"name": text(1), "depth": integer(0), "avg_duration_ms": NUMBER, "error_rate": NUMBER}
)
STATS = component(
    "SystemStats",
    obj(
        {
            "queues": {"anyOf": [integer(0), array(BOTTLENECK)]},
            "workers": integer(0),
            "queues_detail": obj({name: integer(0) for name in QUEUE_NUMBERS}),
            "workers_detail": obj({name: integer(0) for name in WORKER_NUMBERS}),
            "jobs": obj({state.value: integer(0) for state in State}),
            "throughput": obj(
                dict.fromkeys(RATES, NUMBER) | {name: integer(0) for name in WHOLE_RATES}
            ),
            "uptime_seconds": integer(0),
        }
    ),
)
POINTS = obj(
    {
        "period": text(1),
        "data": array(
            obj(
                {"timestamp": TIME}
                | {name: integer(0) for name in ("processed", "failed", "enqueued")}
                | dict.fromkeys(("latency_p50_ms", "latency_p99_ms"), NUMBER)
            )
        ),
        "data_points": array(
            obj(
                {"timestamp": TIME, "avg_latency_ms": NUMBER}
                | {name: integer(0) for name in ("enqueued", "completed", "failed")}
            )
        ),
    }
)


class SystemStats(OJSView):
    """The present numbers and rates."""

    @may_lag
    @operation(
        "getSystemStats",
        {200: STATS},
        query={
            "queue": text(),
            "detail": {"type": "string", "enum": ["true", "false", ""]},
            **{name: NUMBERED[name] for name in ("limit", "page", "per_page", "offset")},
        },
    )
    def get(self, request: Request) -> Answer:
        """Show queues, workers, jobs by state and throughput.

        `detail=true` lists the queues, busiest first, in the place of their number. Workers belong
        to no tenant: a caller bound to a tenant sees none.
        """
        tenant, queue, window = self.principal.tenant, plain(request, "queue"), admin_page(request)
        total, paused = count_queues(tenant)
        workers = workers_by_standing() if tenant is None else {}
        shown: dict[str, Any] = {
            "queues": total,
            "workers": sum(workers.values()),
            "queues_detail": {"total": total, "active": total - paused, "paused": paused},
            "workers_detail": {
                "total": sum(workers.values()),
                **{name: workers.get(name, 0) for name in WORKER_NUMBERS[1:]},
            },
            "jobs": {s.value: number for s, number in jobs_by_state(queue, tenant).items()},
            "throughput": encode_rates(rates(queue, tenant)),
            "uptime_seconds": uptime_seconds(),
        }
        if chosen(request, "detail", ("true", "false")) == "true":
            shown["queues"] = self.bottlenecks(window)
        return Answer(shown)

    def bottlenecks(self, window: Page) -> list[dict[str, Any]]:
        """Return the queues with most waiting jobs first."""
        numbers, _ = visible_queues(self.principal.tenant, limit=500, offset=0)
        busiest = sorted(numbers, key=lambda queue: (-queue.depth, queue.name))
        page = busiest[window.offset : window.offset + window.limit]
        rates = rates_of((queue.name for queue in page), self.principal.tenant)
        return [
            {
                "name": queue.name,
                "depth": queue.depth,
                "avg_duration_ms": queue.avg_duration_ms,
                "error_rate": _error_rate(rates.get(queue.name, Rates())),
            }
            for queue in page
        ]


def _error_rate(found: Rates) -> float:
    ended = found.completed + found.failed
    return round(found.failed / ended, 4) if ended else 0.0


def encode_rates(found: Rates) -> dict[str, Any]:
    """Encode rates for both clients: the first reads averages, the second whole numbers."""
    return {
        "processed_per_minute": found.completed,
        "failed_per_minute": found.failed,
        "enqueued_per_min": round(found.enqueued),
        "completed_per_min": round(found.completed),
        "failed_per_min": round(found.failed),
        "avg_latency_ms": found.latency_ms,
    }


class StatsHistory(OJSView):
    """Numbers over time."""

    @may_lag
    @operation(
        "getStatsHistory",
        {200: POINTS},
        query={
            "period": {"type": "string", "enum": [*PERIODS, ""]},
            "since": SINCE,
            "until": SINCE,
            "queue": text(),
        },
    )
    def get(self, request: Request) -> Answer:
        """Show a point per period, zeros included; by default the last hour in steps of 5 minutes.

        Latency is waiting plus running of completed jobs. At most 1500 points at once. Minutes are
        kept for two days, hours for 90 days, days for two years, unless configured otherwise.
        """
        period = chosen(request, "period", tuple(PERIODS), "5m")
        spell = decode_spell(request, PERIODS[period])
        points = history(spell, plain(request, "queue"), self.principal.tenant)
        return Answer(
            {
                "period": period,
                "data": [_encode_point(point) for point in points],
                "data_points": [_encode_data_point(point) for point in points],
            }
        )


def decode_spell(request: Request, period_s: int) -> Spell:
    """Read the beginning and the end, on whole periods. Raises InvalidRequest."""
    until = moment(request, "until") or queries.now()
    since = moment(request, "since") or until - DEFAULT_SPAN
    if since >= until:
        raise InvalidRequest.field("since", "must be before until", format_time(since))
    first = int(since.timestamp()) // period_s * period_s
    last = -(-int(until.timestamp()) // period_s) * period_s
    if (last - first) // period_s > MOST_POINTS:
        raise InvalidRequest.field(
            "since", f"leads to more than {MOST_POINTS} points, choose a longer period"
        )
    return Spell(period_s, _at(first), _at(max(last, first + period_s)))


def _at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _encode_point(point: Point) -> dict[str, Any]:
    return {
        "timestamp": format_time(point.at),
        "processed": point.completed,
        "failed": point.failed,
        "enqueued": point.enqueued,
        "latency_p50_ms": point.latency.p50,
        "latency_p99_ms": point.latency.p99,
    }


def _encode_data_point(point: Point) -> dict[str, Any]:
    return {
        "timestamp": format_time(point.at),
        "enqueued": point.enqueued,
        "completed": point.completed,
        "failed": point.failed,
        "avg_latency_ms": point.mean_ms,
    }
