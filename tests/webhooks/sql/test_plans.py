"""Rows that statements of webhooks read at volume: none scans a growing table."""

from collections.abc import Callable
from pathlib import Path

import pytest
from django.db import connection

from tests.jobs.sql.volume import touched_by
from webhooks import queries
from webhooks.services.deliveries import DeliveryFilter, delete_expired_deliveries, deliveries

pytestmark = [pytest.mark.usefixtures("full"), pytest.mark.xdist_group("plans of webhooks")]

SUBSCRIPTIONS, DELIVERIES = 50, 30_000
GROWING = {"ojs_webhook_delivery", "ojs_webhook_attempt"}
MOST = 1_000  # index entries; reading all would be thirty times as many
LOAD = """
INSERT INTO ojs_webhook_subscription (id, url, events, queues, job_types, secret, active,
                                      metadata, created_by)
SELECT 'sub_' || n, 'https://example.org', '["*"]', '[]', '[]', ''::bytea, true, '{}', ''
  FROM generate_series(1, %(subscriptions)s::int) AS n;
INSERT INTO ojs_webhook_delivery (id, subscription_id, event_id, event_type, body, status,
                                  next_attempt_at, ended_at, created_at)
SELECT 'del_' || n, 'sub_' || 1 + n %% %(subscriptions)s::int, 'evt_' || n, 'job.completed',
       ''::bytea, CASE WHEN n %% 10 = 0 THEN 'pending' ELSE 'delivered' END,
       CASE WHEN n %% 10 = 0 THEN now() - interval '1 minute' END,
       CASE WHEN n %% 10 <> 0 THEN now() - n * interval '2 minutes' END,
       now() - n * interval '2 minutes'
  FROM generate_series(1, %(deliveries)s::int) AS n;
INSERT INTO ojs_webhook_attempt (delivery_id, number, took_ms)
SELECT 'del_' || n, 1, 5 FROM generate_series(1, %(deliveries)s::int) AS n
"""
ROW = {
    "id": "del_10", "subscription_id": "sub_11", "number": 0, "took_ms": 1, "status_code": 200,
    "error": None, "body": None, "is_success": True, "wait_s": None,
}  # fmt: skip
NEW = {
    "id": "del_new", "subscription_id": "sub_1", "tenant": None, "event_id": "evt_new",
    "event_type": "job.completed", "body": "{}",
}  # fmt: skip
CLAIM = {"batch": 16, "share": 4, "busy": ["sub_1"], "timeout_ms": 1000, "grace_ms": 1000}

CALLS: dict[str, Callable[[], object]] = {
    "claim": lambda: queries.claim(CLAIM),
    "record": lambda: queries.record([ROW], 50),
    "deliver": lambda: queries.deliver([NEW], 0),
    "forget": delete_expired_deliveries,
    "list": lambda: deliveries(DeliveryFilter(), limit=50, offset=0),
    "list of one": lambda: deliveries(DeliveryFilter(subscription_id="sub_1"), limit=50, offset=0),
}
MAY_READ = {"forget": 3_000}  # a batch of a thousand, and its part of the index


@pytest.fixture
def full(empty: None) -> None:
    """Load subscriptions and deliveries."""
    facts = {"subscriptions": SUBSCRIPTIONS, "deliveries": DELIVERIES}
    with connection.cursor() as cursor:
        for sql in LOAD.split(";\n"):
            used = {name: value for name, value in facts.items() if f"%({name})s" in sql}
            cursor.execute(sql, used)
        cursor.execute("VACUUM ANALYZE ojs_webhook_delivery, ojs_webhook_attempt")


def test_every_statement_is_measured() -> None:
    files = {path.stem for path in (Path(queries.__file__).parent / "sql").glob("*.sql")}

    assert files <= CALLS.keys()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
def test_statement_at_volume_reads_what_it_needs(name: str, mode: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET plan_cache_mode = {mode}")

    read = touched_by(CALLS[name])

    with connection.cursor() as cursor:
        cursor.execute("RESET plan_cache_mode")
    assert not read.scanned.keys() & GROWING, read.scanned
    assert max(read.entries.values(), default=0) <= MAY_READ.get(name, MOST), read.entries
