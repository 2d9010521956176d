"""`limit` with `offset`, `cursor` or `page`. Spec: contract 3.1, Paging."""

import base64
from dataclasses import dataclass
from typing import Any

from rest_framework.request import Request

from jobs.api.schemas import Schema, integer, text
from jobs.domain.errors import InvalidRequest

DEFAULT_LIMIT, MAX_LIMIT, MAX_OFFSET, MAX_DIGITS = 50, 200, 1_000_000, 7
LOWEST = {"per_page": 1, "limit": 1, "page": 1, "offset": 0}
NUMBERED: dict[str, Schema] = {
    "page": integer(1, 1_000_000),
    "per_page": {**integer(1, 1_000_000), "description": "At most 100 are shown"},
    "limit": {**integer(1, 1_000_000), "description": "For exports; at most 10,000 are shown"},
    "offset": integer(0, 1_000_000),
}
QUERY: dict[str, Schema] = {
    "limit": {**integer(1, MAX_OFFSET), "description": "Clamped to what the list allows"},
    "offset": integer(0, MAX_OFFSET),
    "cursor": {**text(format="cursor"), "description": "`next_cursor` of the page before"},
    "page": integer(1, MAX_OFFSET),
    "per_page": {**integer(1, MAX_OFFSET), "description": "Another name of `limit`"},
}


ADMIN_LIMIT, MAX_PER_PAGE, MAX_EXPORT, DEEPEST = 20, 100, 10_000, 50_000


@dataclass(frozen=True, slots=True)
class Page:
    """A window of a list."""

    limit: int
    offset: int

    def answer(self, total: int) -> dict[str, Any]:
        """Build the `pagination` object."""
        shown: dict[str, Any] = {
            "total": total,
            "limit": self.limit,
            "offset": self.offset,
            "has_more": self.offset + self.limit < total,
        }
        if shown["has_more"]:
            text = f"off:{self.offset + self.limit}"
            shown["next_cursor"] = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return shown

    def numbered(self, total: int) -> dict[str, Any]:
        """Build the `pagination` object of the admin API. Spec: contract 24."""
        return {
            "total": total,
            "page": self.offset // self.limit + 1,
            "per_page": self.limit,
            "limit": self.limit,
            "offset": self.offset,
            "has_more": self.offset + self.limit < total,
        }


def page(
    request: Request,
    *,
    default: int = DEFAULT_LIMIT,
    most: int = MAX_LIMIT,
    has_cursor: bool = True,
) -> Page:
    """Read the window of a request, at most `most` items. Raises InvalidRequest.

    `has_cursor` false leaves the cursor to the caller, whose cursors say something else.
    """
    query = request.query_params
    # all are checked, also those that another one overrides
    given = {name: _number(query.get(name), name, low) for name, low in LOWEST.items()}
    limit = min(given["per_page"] or given["limit"] or default, most)
    if has_cursor and (cursor := query.get("cursor")):
        return Page(limit, _offset_of(cursor))
    if given["page"]:
        return Page(limit, (given["page"] - 1) * limit)
    return Page(limit, given["offset"] or 0)


def admin_page(request: Request) -> Page:
    """Read the window of an admin list: `page` with `per_page`, or `limit` with `offset`.

    Larger pages are clamped, lists end at DEEPEST. Raises InvalidRequest. Spec: contract 24.
    """
    query = request.query_params
    given = {name: _number(query.get(name), name, low) for name, low in LOWEST.items()}
    if given["per_page"] is None and given["limit"] is not None:
        limit = min(given["limit"], MAX_EXPORT)
    else:
        limit = min(given["per_page"] or ADMIN_LIMIT, MAX_PER_PAGE)
    offset = (given["page"] - 1) * limit if given["page"] else given["offset"] or 0
    if offset > DEEPEST:
        name = "page" if given["page"] else "offset"
        raise InvalidRequest.field(name, f"must not lead beyond the first {DEEPEST} entries")
    return Page(limit, offset)


def _number(raw: str | None, name: str, low: int) -> int | None:
    if raw is None:
        return None
    if not (
        raw.isascii() and raw.isdigit() and len(raw) <= MAX_DIGITS and low <= int(raw) <= MAX_OFFSET
    ):
        raise InvalidRequest.field(
            name, f"must be an integer from {low} to {MAX_OFFSET}", raw[:100]
        )
    return int(raw)


def _offset_of(cursor: str) -> int:
    try:
        text = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()
        offset = int(text.removeprefix("off:"))
    except ValueError:
        offset = -1
    if not 0 <= offset <= MAX_OFFSET:
        raise InvalidRequest.field("cursor", "is not one this server gave", cursor[:100])
    return offset
