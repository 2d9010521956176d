"""One typed function per statement in `sql/`: the only module of webhooks with a cursor."""

from collections.abc import Mapping, Sequence
from itertools import starmap
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from jobs.statements import Statements

_rows = Statements(Path(__file__).resolve().parent / "sql").rows


class Claimed(NamedTuple):
    """A delivery to try now, with the settings of its subscription; secrets are sealed."""

    id: str
    subscription_id: str
    event_type: str
    body: bytes
    attempts: int
    tries: int
    url: str
    secret: bytes
    previous_secret: bytes | None
    is_rotating: bool | None
    timeout_ms: int


def claim(params: Mapping[str, Any]) -> list[Claimed]:
    """Claim due deliveries; parameters as named in `sql/claim.sql`."""
    return list(starmap(Claimed, _rows("claim", params)))


class Recorded(NamedTuple):
    """A delivery after an attempt."""

    id: str
    subscription_id: str
    event_id: str
    event_type: str
    status: str
    attempts: int
    tenant: str | None
    status_code: int | None
    error: str | None
    is_disabled: bool  # this attempt switched its subscription off


def record(attempts: Sequence[Mapping[str, Any]], disable_after: int) -> list[Recorded]:
    """Store the outcomes of attempts; return the changed deliveries."""
    given = {"attempts": orjson.dumps(attempts).decode(), "disable_after": disable_after}
    return list(starmap(Recorded, _rows("record", given)))


def deliver(rows: Sequence[Mapping[str, Any]], first_s: int) -> None:
    """Store deliveries that are due in `first_s` seconds."""
    _rows("deliver", {"rows": orjson.dumps(rows).decode(), "first_s": first_s})


def forget(retention_ms: int, batch: int) -> int:
    """Remove deliveries that ended long ago; return their number."""
    return len(_rows("forget", {"retention_ms": retention_ms, "batch": batch}))
