"""Small stores, and calls of single steps of a claim on them."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from django.db import connection

Facts = dict[str, Any]

# the state of a claim as it begins with queue `q`, the only queue of the request
STATE: Mapping[str, Any] = {
    "now": "2026-01-01T00:00:00Z", "need": 9, "must_not_wait": False, "exhausted": [],
    "position": 1, "queue": "q", "stored_queue": "q", "quota": 9, "is_hinted": False, "rank": 0,
    "vt": 0, "is_single_lane": False, "is_ordered": False, "is_done": False,
    "must_look_again": False, "has_other_rank": False, "charges_lanes": False,
}  # fmt: skip
REQUEST: Mapping[str, Any] = {"queues": ["q"], "jobs": 9, "default_lease_ms": 60_000}
NOT_SET: Mapping[str, Any] = {"is_limited": False, "vt": 0, "weight": 1, "low": 0}


def rows(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a statement; returns its rows, if it has any."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall() if cursor.description else []


def value(expression: str, *values: Any) -> Any:
    """Return the value of an expression, composite values as objects."""
    [(found,)] = rows(f"SELECT to_jsonb({expression})", *values)
    return found if found is None else orjson.loads(found)


def request(**members: Any) -> str:
    """Return a request as JSON, in the form that OF_REQUEST reads."""
    return orjson.dumps({**REQUEST, **members}).decode()


def state(**members: Any) -> str:
    """Return the state of a claim as JSON, in the form that OF_STATE reads."""
    return orjson.dumps({**STATE, **members}).decode()


def lane_row(**columns: Any) -> str:
    """Return columns of a lane as JSON, in the form that OF_LANE reads."""
    return orjson.dumps(columns).decode()


def pick(lane: int, **members: Any) -> Facts:
    """Return a pick; `lane_ctid=True` stands for the `ctid` of the lane's row."""
    if members.get("lane_ctid"):
        [(members["lane_ctid"],)] = rows("SELECT ctid::text FROM ojs_lane WHERE id = %s", lane)
    return {"lane": lane, "tenant": f"t{lane}", **NOT_SET, **members}


def picks(*found: Facts) -> str:
    """Return picks as JSON, in the form that PICKS reads."""
    return orjson.dumps(found).decode()


PICKS = "(SELECT array_agg(p) FROM jsonb_populate_recordset(NULL::ojs_pick, %s::jsonb) AS p)"
OF_LANE = "jsonb_populate_record(NULL::ojs_lane, %s::jsonb)"
OF_REQUEST = "jsonb_populate_record(NULL::ojs_request, %s::jsonb)"
OF_STATE = "jsonb_populate_record(NULL::ojs_claim_state, %s::jsonb)"
OF_ROTATION = "jsonb_populate_record(NULL::ojs_rotation, %s::jsonb)"


def step(name: str, asked: str, found: str, *more: Any) -> Facts:
    """Run a step of the claim on a request and a state; returns the state."""
    others = "".join(", %s" for _ in more)
    made: Facts = value(f"{name}({OF_REQUEST}, {OF_STATE}{others})", asked, found, *more)
    return made


def picked_at_once(asked: str, **rotation: Any) -> Facts:
    """Pick jobs of all queues of a request that have a single lane; returns the state."""
    made: Facts = value(
        f"ojs_pick_single_lanes({OF_REQUEST}, {OF_STATE}, {OF_ROTATION})",
        asked, state(), orjson.dumps(rotation).decode(),
    )  # fmt: skip
    return made


def add_queue(name: str = "q", **columns: Any) -> None:
    """Store a queue."""
    _insert("ojs_queue", {"name": name, **columns})


def add_lane(number: int, jobs: Sequence[int] = (), **columns: Any) -> int:
    """Store a lane of queue `q` with jobs of these `seq`; its id is the number."""
    stored = columns.pop("stored_queue", None)
    columns = {"queue": "q", "priority": 0, "tenant": f"t{number}", **columns}
    key = {name: columns[name] for name in ("queue", "priority", "tenant")}
    _insert("ojs_lane_key", {"id": number, "limits": columns.get("limits") or [number], **key})
    columns["queue"] = stored or columns["queue"]
    _insert("ojs_lane", {"id": number, "active": True, **columns})
    for seq in jobs:
        add_job(number, seq)
    return number


def add_job(lane: int, seq: int, expires_at: str | None = None, **columns: Any) -> str:
    """Store an available job of a lane; returns its id."""
    [(queue, priority, tenant)] = rows(
        "SELECT queue, priority, tenant FROM ojs_lane_key WHERE id = %s", lane
    )
    job_id = f"00000000-0000-7000-8000-{lane:04d}{seq:08d}"
    job = {
        "id": job_id, "type": "tests.noop", "queue": queue, "tenant": tenant, "lane_id": lane,
        "priority": priority, "watched": False, "args": "[]", "meta": "{}", "attributes": "{}",
        "max_attempts": 3, "timeout_ms": 1000, "created_at": "2026-01-01", "attempt": 0,
        "enqueued_at": "2026-01-01", "bytes": 10, "expires_at": expires_at,
    }  # fmt: skip
    _insert("ojs_job", {**job, **columns})
    _insert("ojs_ready", {"id": job_id, "lane_id": lane, "seq": seq, "attempt": 0,
                          "enqueued_at": "2026-01-01", "expires_at": expires_at})  # fmt: skip
    return job_id


def add_lease(*, pool: str | None = None, worker: str | None = None) -> None:
    """Store an active job."""
    rows(
        "INSERT INTO ojs_lease (id, lane_id, tenant, watched, pool, worker_id, attempt,"
        " enqueued_at, started_at, lease_ms, lease_until, timeout_at)"
        " VALUES (gen_random_uuid(), 1, 't', false, %s, %s, 1, now(), now(), 1, now(), now())",
        pool, worker,
    )  # fmt: skip


def add_limit(number: int, kind: int = 3, **policy: Any) -> int:
    """Store a limit; its id is the number."""
    wanted = orjson.dumps({"on_limit": "wait", **policy}).decode()
    _insert("ojs_limit", {"id": number, "kind": kind, "tenant": "*", "key": f"k{number}",
                          "policy": wanted})  # fmt: skip
    return number


def lane_facts(number: int) -> Facts:
    """Return a lane's row."""
    found: Facts = value("(SELECT l FROM ojs_lane AS l WHERE l.id = %s)", number)
    return found


def _insert(table: str, columns: Mapping[str, Any]) -> None:
    names, places = ", ".join(columns), ", ".join("%s" for _ in columns)
    rows(f"INSERT INTO {table} ({names}) VALUES ({places})", *columns.values())  # noqa: S608
