"""Shared parts of admin endpoints: lists, confirmation, times of the query. Spec: contract 24."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from rest_framework.request import Request

from jobs import queries
from jobs.api.schemas import (
    BOOLEAN,
    PAGINATION,
    SHORT_DURATION,
    TIME,
    Schema,
    array,
    integer,
    maybe,
    obj,
    text,
)
from jobs.api.wire.paging import Page
from jobs.domain.access.caller import MAX_REASON
from jobs.domain.errors import ConfirmationRequired, InvalidRequest, NotFound
from jobs.domain.wire.durations import TOO_LONG, parse_short_duration
from jobs.domain.wire.times import read_time

SPAN_RULE = "must be an RFC 3339 time or a duration such as 24h or PT1H"
REASON: Schema = maybe(text(0, MAX_REASON))
SINCE: Schema = {
    "description": "RFC 3339 time, or a duration before now such as 24h",
    "anyOf": [TIME, *SHORT_DURATION["anyOf"], {"const": ""}],
}


def list_of(item: Schema, *aliases: str, more: Schema | None = None) -> Schema:
    """Describe an admin list."""
    lists = {name: array(item) for name in ("items", *aliases)}
    facts = {"total": integer(0), "pagination": PAGINATION, **(more or {})}
    return obj({**lists, **facts}, {"total_is_estimate": BOOLEAN})


def listed(
    items: Sequence[Any], total: int, window: Page, *aliases: str, is_estimate: bool = False
) -> dict[str, Any]:
    """Build an admin list; clients read it by `items` or by a name of their own."""
    shown: dict[str, Any] = dict.fromkeys(("items", *aliases), items)
    shown |= {"total": total, "pagination": window.answer(total)}
    return shown | ({"total_is_estimate": True} if is_estimate else {})


def require_confirm(body: Mapping[str, Any]) -> None:
    """Refuse a deletion or a change of many without `confirm: true`."""
    if body.get("confirm") is not True:
        raise ConfirmationRequired.field("confirm", "must be true", body.get("confirm"))


def optional_text(body: Mapping[str, Any], name: str, most: int = MAX_REASON) -> str | None:
    """Read a text that may be missing. Raises InvalidRequest."""
    raw = body.get(name)
    if raw is not None and (not isinstance(raw, str) or len(raw) > most):
        raise InvalidRequest.field(name, f"must be a string of at most {most} characters", raw)
    return raw or None


def moment(request: Request, name: str) -> datetime | None:
    """Read a time of the query, or a duration before now. Raises InvalidRequest."""
    return moment_of(request.query_params.get(name), name)


def moment_of(raw: object, name: str) -> datetime | None:
    """Read a time, or a duration before now. Raises InvalidRequest."""
    if raw is None or raw == "":
        return None
    try:
        return read_time(raw)
    except ValueError:
        try:
            ms = parse_short_duration(raw)
        except ValueError as problem:
            rule = TOO_LONG if str(problem) == TOO_LONG else SPAN_RULE
            raise InvalidRequest.field(name, rule, raw) from None
    return queries.now() - timedelta(milliseconds=ms)


def chosen(request: Request, name: str, allowed: Sequence[str], default: str = "") -> str:
    """Read a word of the query. Raises InvalidRequest."""
    raw = request.query_params.get(name) or default
    if raw and raw not in allowed:
        raise InvalidRequest.field(name, f"must be one of {', '.join(allowed)}", raw[:100])
    return raw


def plain(request: Request, name: str) -> str | None:
    """Read a text of the query; a NUL, which no name has, is refused. Raises InvalidRequest."""
    raw = request.query_params.get(name)
    if raw and "\0" in raw:
        raise InvalidRequest.field(name, "must not hold NUL", raw[:100])
    return raw or None


def checked_worker_id(worker_id: str) -> str:
    """Return an id that may be a worker's. Raises NotFound."""
    if "\0" in worker_id:
        raise NotFound.of("worker", worker_id)
    return worker_id
