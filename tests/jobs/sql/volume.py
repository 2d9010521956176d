"""Stores large enough to expose a wrong plan, loaded by SQL, and the counts of a call's reads.

Ids are made from a number, so a test can name rows of a kind: `job_id(READY + 5)`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import connection, transaction

READY, LEASE, LATER, PENDING, FINISHED = (n * 1_000_000 for n in range(1, 6))
JOBS = {READY: 20_000, LEASE: 3_000, LATER: 10_000, PENDING: 2_000, FINISHED: 20_000}
LANE = 1_000_000  # id of the first lane
DUE = 30  # the first of a kind are due: expired, overdue, or to be promoted
EVENTS, STAMPS, AGGREGATED = 50_000, 500, 495  # the last hundredth is not aggregated yet
WORKERS = 1_000


class Shape(NamedTuple):
    """The distribution of the jobs: over `queues`, each with a lane for each of `tenants`."""

    queues: int
    tenants: int

    @property
    def lanes(self) -> int:
        """Return the number of lanes."""
        return self.queues * self.tenants


SHAPES = {
    "1 lane": Shape(1, 1),
    "10,000 lanes": Shape(100, 100),
    "10,000 lanes of a queue": Shape(1, 10_000),
}


def job_id(number: int) -> str:
    """Return the id of job `number`."""
    return f"00000000-0000-7000-8000-{number:012x}"


LANES = """
INSERT INTO ojs_queue (name) SELECT 'q' || n FROM generate_series(0, %(queues)s - 1) AS n
ON CONFLICT DO NOTHING;
INSERT INTO ojs_lane_key (id, queue, priority, tenant)
SELECT %(lane)s + n, 'q' || n %% %(queues)s, 0, 't' || n / %(queues)s
  FROM generate_series(0, %(lanes)s - 1) AS n;
INSERT INTO ojs_limit (id, kind, tenant, key, policy)
SELECT 1000000 + t, 2, 't' || t, '',
       jsonb_build_object('concurrency', CASE t %% 20 WHEN 9 THEN 1000 ELSE 0 END)
  FROM generate_series(0, %(lanes)s / %(queues)s) AS t WHERE t %% 10 = 9;
INSERT INTO ojs_lane (id, queue, priority, tenant, active, limits, blocked_by)
SELECT %(lane)s + n, 'q' || n %% %(queues)s, 0, 't' || n / %(queues)s, true,
       CASE WHEN n / %(queues)s %% 10 = 9 THEN ARRAY[1000000 + n / %(queues)s] END,
       CASE WHEN n / %(queues)s %% 20 = 19 THEN 1000000 + n / %(queues)s END
  FROM generate_series(0, %(lanes)s - 1) AS n;
WITH key AS (
    INSERT INTO ojs_lane_key (queue, priority, tenant)
    SELECT 'q' || n %% %(queues)s, -1, 't' || n / %(queues)s
      FROM generate_series(0, %(lanes)s / 10) AS n
    RETURNING id, queue, priority, tenant
)
INSERT INTO ojs_lane (id, queue, priority, tenant) SELECT id, queue, priority, tenant FROM key;
INSERT INTO ojs_served (scope, rank, tenant, cost)
SELECT 's', r, 't' || n, 3 * (n %% 50 = 0)::int
  FROM generate_series(0, 9_999) AS n, generate_series(-1, 1) AS r;
INSERT INTO ojs_worker (id, last_heartbeat_at, dead_at)
SELECT 'w' || n, now() - interval '1 hour' * (n < 20)::int, CASE WHEN n < 10 THEN now() END
  FROM generate_series(0, %(workers)s - 1) AS n;
"""

WIDE = """
INSERT INTO ojs_job (id, type, queue, tenant, lane_id, priority, watched, args, meta, attributes,
                     max_attempts, timeout_ms, created_at, attempt, enqueued_at, state, finished_at,
                     dead_letter, error)
SELECT ('00000000-0000-7000-8000-' || lpad(to_hex(%(first)s + n), 12, '0'))::uuid, 'volume.type',
       'q' || n %% %(queues)s, 't' || n %% %(lanes)s / %(queues)s, %(lane)s + n %% %(lanes)s, 0,
       false, '[{"a": 1}]', '{}', '{"tags": [], "timeout_ms": 1800000, "retry": {"jitter": true,
         "max_attempts": 3, "max_interval": "PT5M", "on_exhaustion": "discard",
         "initial_interval": "PT1S", "backoff_strategy": "exponential", "backoff_coefficient": 2.0,
         "non_retryable_errors": []}}', 3, 1800000, now() - interval '1 hour', 0,
       now() - interval '1 hour', CASE WHEN %(ended)s THEN 6 + n %% 3 END,
       CASE WHEN %(ended)s THEN now() - n * interval '1 second' END,
       CASE WHEN %(ended)s AND n %% 3 = 2 THEN n %% 2 = 0 END,
       CASE WHEN %(ended)s THEN '{"type": "Broken"}'::jsonb END
  FROM generate_series(0, %(number)s - 1) AS n;
"""

NARROW = {
    READY: """
INSERT INTO ojs_ready (id, lane_id, attempt, enqueued_at, expires_at)
SELECT j.id, j.lane_id, 0, j.enqueued_at,
       CASE WHEN j.id < %(due)s THEN now() - interval '1 minute'
            WHEN hashtext(j.id::text) %% 10 = 0 THEN now() + interval '1 day' END
  FROM ojs_job AS j WHERE j.id BETWEEN %(low)s AND %(high)s ORDER BY j.id;
""",
    LEASE: """
INSERT INTO ojs_lease (id, lane_id, tenant, limits, watched, worker_id, attempt, enqueued_at,
                       started_at, lease_ms, lease_until, timeout_at)
SELECT j.id, j.lane_id, j.tenant,
       (SELECT ARRAY[m.id] FROM ojs_limit AS m WHERE m.kind = 2 AND m.tenant = j.tenant), false,
       'w' || (hashtext(j.id::text) & 511), 1, j.enqueued_at, j.enqueued_at, 60000,
       now() + CASE WHEN j.id < %(due)s THEN interval '-1 minute' ELSE interval '1 day' END,
       now() + interval '1 day'
  FROM ojs_job AS j WHERE j.id BETWEEN %(low)s AND %(high)s;
INSERT INTO ojs_hold (limit_id, job_id)
SELECT x.limits[1], x.id FROM ojs_lease AS x
 WHERE x.id BETWEEN %(low)s AND %(high)s AND x.limits IS NOT NULL;
INSERT INTO ojs_progress (job_id, attempt, progress)
SELECT j.id, 1, 0.5 FROM ojs_job AS j WHERE j.id BETWEEN %(low)s AND %(high)s;
""",
    LATER: """
INSERT INTO ojs_later (id, kind, due_at, lane_id, attempt, expires_at)
SELECT j.id, 1, now() + CASE WHEN j.id < %(due)s THEN interval '-1 minute'
                             ELSE interval '1 second' * (hashtext(j.id::text) & 65535) END,
       j.lane_id, 0, CASE WHEN hashtext(j.id::text) %% 10 = 0 THEN now() + interval '1 day' END
  FROM ojs_job AS j WHERE j.id BETWEEN %(low)s AND %(high)s;
""",
    PENDING: """
INSERT INTO ojs_later (id, kind, lane_id, attempt)
SELECT j.id, 2, j.lane_id, 0 FROM ojs_job AS j WHERE j.id BETWEEN %(low)s AND %(high)s;
""",
    FINISHED: """
INSERT INTO ojs_finished (queue, kind, finished_at, id)
SELECT j.queue, CASE WHEN j.dead_letter THEN 9 ELSE j.state END, j.finished_at, j.id
  FROM ojs_job AS j WHERE j.id BETWEEN %(low)s AND %(high)s;
INSERT INTO ojs_result_expiry (id, due_at)
SELECT j.id, now() + CASE WHEN hashtext(j.id::text) & 63 = 0 THEN interval '-1 minute'
                          ELSE interval '1 day' END
  FROM ojs_job AS j WHERE j.id BETWEEN %(low)s AND %(high)s AND j.state = 6;
""",
}

# every job of the first kinds has a fingerprint of its own, except a hundredth that shares one
FINGERPRINTS = """
INSERT INTO ojs_unique (job_id, fingerprint, created_at, ended)
SELECT j.id, sha256(k.key::bytea), j.created_at, j.state
  FROM ojs_job AS j
 CROSS JOIN LATERAL (
       SELECT CASE WHEN hashtext(j.id::text) %% 100 = 0 THEN 'shared' ELSE j.id::text END AS key
       ) AS k
 WHERE j.id < %(high)s AND hashtext(j.id::text) %% 4 <> 3;
"""

RECORD = """
INSERT INTO ojs_event (stamp, kind, job_id, queue, type, tenant, to_state, attempt)
SELECT (1 + n * %(stamps)s::bigint / %(events)s)::text::xid8, 1,
       ('00000000-0000-7000-8000-' || lpad(to_hex(%(first)s + n %% 20000), 12, '0'))::uuid,
       'q' || n %% %(queues)s, 'volume.type', 't0', 3, 0
  FROM generate_series(0, %(events)s - 1) AS n;
INSERT INTO ojs_bulk_answer (operation, tenant, key, request_hash, created_at)
SELECT 'op', '', 'k' || n, '', now() - n * interval '3 seconds' FROM generate_series(0, 20000) AS n;
INSERT INTO ojs_fold_position (id, stamp) VALUES (1, %(counted)s::text::xid8)
ON CONFLICT (id) DO UPDATE SET stamp = excluded.stamp;
INSERT INTO ojs_charge (queue, stamp, jobs, mean_ms) VALUES ('q0', %(counted)s::text::xid8, 0, 0);
INSERT INTO ojs_depth (queue, state, jobs)
SELECT 'q' || n, s, 10 FROM generate_series(0, %(queues)s - 1) AS n, generate_series(1, 8) AS s;
INSERT INTO ojs_period (span_s, at, queue, type)
SELECT s, date_bin(s * interval '1 second', now(), 'epoch') - n * s * interval '1 second',
       'q' || n %% %(queues)s, 'type' || t
  FROM unnest(ARRAY[60, 3600, 86400]) AS s, generate_series(0, 1999) AS n,
       generate_series(0, 4) AS t;
INSERT INTO ojs_latency (span_s, at, queue, bucket, jobs)
SELECT s, date_bin(s * interval '1 second', now(), 'epoch') - n * s * interval '1 second',
       'q' || n %% %(queues)s, b, 1
  FROM unnest(ARRAY[60, 3600, 86400]) AS s, generate_series(0, 1999) AS n,
       generate_series(0, 4) AS b;
INSERT INTO ojs_tenant_period (tenant, span_s, at, queue, enqueued, started, completed, failed,
                               wait_ms, run_ms)
SELECT 't' || t, s, date_bin(s * interval '1 second', now(), 'epoch') - n * s * interval '1 second',
       'q' || n %% %(queues)s, 1, 1, 1, 0, 5, 5
  FROM unnest(ARRAY[60, 3600, 86400]) AS s, generate_series(0, 1999) AS n,
       generate_series(0, 4) AS t;
INSERT INTO ojs_dispatch (queue, pool, jobs, last_at)
SELECT 'q' || n %% %(queues)s, 'p' || n / %(queues)s, 1, now()
  FROM generate_series(0, 3 * %(queues)s - 1) AS n;
INSERT INTO ojs_dispatch_period (span_s, at, queue, pool, jobs, wait_ms)
SELECT s, date_bin(s * interval '1 second', now(), 'epoch') - n * s * interval '1 second',
       'q' || n %% %(queues)s, 'p' || p, 1, 5
  FROM unnest(ARRAY[1, 60, 3600]) AS s, generate_series(0, 7199) AS n, generate_series(0, 4) AS p;
INSERT INTO ojs_objective_period (span_s, at, queue, within_ms, started, late)
SELECT s, date_bin(s * interval '1 second', now(), 'epoch') - n * s * interval '1 second',
       'q' || q, 30000, 10, 1
  FROM unnest(ARRAY[60, 3600]) AS s, generate_series(0, 1999) AS n, generate_series(0, 4) AS q;
INSERT INTO ojs_audit (actor, action, target, at, data)
SELECT 'console:u' || n %% 9, 'queue.paused', 'q', now() - n * interval '1 minute', '{}'
  FROM generate_series(0, 9999) AS n;
INSERT INTO ojs_config_change (kind, name, actor, action, at)
SELECT 'queue', 'q' || n %% 9, 'ada', 'queue.configured', now() - n * interval '1 minute'
  FROM generate_series(0, 9999) AS n;
INSERT INTO ojs_undo (id, until, actor, action, target, state, jobs, bytes, is_cut, restored,
                      left_out)
VALUES (7, now() + interval '1 day', 'a', 'x', 'y', 'running', 0, 0, false, 0, 0)
ON CONFLICT DO NOTHING;
INSERT INTO ojs_undo_job (undo_id, job_id, was, queue, priority, lane_id, attempt, enqueued_at,
                          left_state, left_at, left_lane, image)
SELECT 7, j.id, CASE WHEN j.state IS NULL THEN 8 ELSE 3 END, j.queue, 0, j.lane_id, 0,
       now(), coalesce(j.state, 3), coalesce(j.finished_at, j.enqueued_at), j.lane_id,
       '{"ran": false, "attempt": 0, "job": {"state": 7, "finished_at": "2026-01-01"}}'
  FROM ojs_job AS j WHERE j.state IS NOT NULL OR j.id < %(later)s
ON CONFLICT DO NOTHING;
INSERT INTO ojs_duration (queue, type, measure, bucket, jobs, took_ms)
SELECT 'q' || n %% %(queues)s, 'type' || n / %(queues)s, 0, 1, 1, 1
  FROM generate_series(0, 9999) AS n;
"""


def load(shape: Shape) -> None:
    """Fill an empty store; the caller updates the statistics."""
    facts = {
        **shape._asdict(), "lanes": shape.lanes, "workers": WORKERS, "events": EVENTS,
        "stamps": STAMPS, "counted": AGGREGATED, "lane": LANE,
    }  # fmt: skip
    with transaction.atomic(), connection.cursor() as cursor:
        _run(cursor.execute, LANES, facts)
        for first, number in JOBS.items():
            more = {
                "first": first, "number": number, "ended": first == FINISHED,
                "low": job_id(first), "high": job_id(first + number), "due": job_id(first + DUE),
            }  # fmt: skip
            _run(cursor.execute, WIDE + NARROW[first], facts | more)
        _run(cursor.execute, FINGERPRINTS, {"high": job_id(FINISHED + 20_000)})
        _run(cursor.execute, RECORD, facts | {"first": FINISHED, "later": job_id(LEASE)})
        cursor.execute("SELECT pg_stat_force_next_flush()")  # row counts; by default once a second


def _run(execute: Callable[[str, Any], object], text: str, facts: dict[str, object]) -> None:
    for sql in text.split(";\n"):
        if sql.strip():
            used = {name: value for name, value in facts.items() if f"%({name})s" in sql}
            execute(sql, used)


def analyze() -> None:
    """Give the planner true statistics."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


@dataclass
class Touched:
    """The reads of one call: sequential scans by table, entries by index."""

    scanned: dict[str, int] = field(default_factory=dict)
    entries: dict[str, int] = field(default_factory=dict)


# the reads of this transaction, also inside functions
COUNTS = """
SELECT c.relname, c.relkind = 'i', pg_stat_get_xact_numscans(c.oid),
       pg_stat_get_xact_tuples_returned(c.oid)
  FROM pg_class AS c WHERE c.relname LIKE 'ojs\\_%' AND c.relkind IN ('r', 'i')
"""


def touched_by(call: Callable[[], object]) -> Touched:
    """Run `call` in a transaction and return its reads."""
    with transaction.atomic():
        before = _counts()
        call()
        after = _counts()
    found = Touched()
    for name, (is_index, scans, tuples) in after.items():
        new_scans, new_tuples = scans - before[name][1], tuples - before[name][2]
        if new_scans and is_index:
            found.entries[name] = new_tuples
        elif new_scans:
            found.scanned[name] = new_tuples
    return found


def _counts() -> dict[str, tuple[bool, int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(COUNTS)
        return {name: (is_index, scans, n) for name, is_index, scans, n in cursor.fetchall()}
