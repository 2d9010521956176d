"""`limit` with `offset`, `cursor` or `page`. Spec: contract 3.1, Paging."""

import base64
from dataclasses import dataclass
from typing import Any

from rest_framework.request import Request

from jobs.api.schemas import Schema, integer, text
from jobs.domain.errors import InvalidRequest
from jobs.domain.wire.bounds import MAX_OFFSET

DEFAULT_LIMIT, MAX_LIMIT, MAX_DIGITS = 50, 200, 7
LOWEST = {"per_page": 1, "limit": 1, "page": 1, "offset": 0}
CURSOR: Schema = {**text(format="cursor"), "description": "`next_cursor` of the page before"}
NUMBERED: dict[str, Schema] = {
    "page": integer(1, MAX_OFFSET),
    "per_page": {**integer(1, MAX_OFFSET), "description": "At most 100 are shown"},
    "limit": {**integer(1, MAX_OFFSET), "description": "For exports; at most 10,000 are shown"},
    "offset": integer(0, MAX_OFFSET),
    "cursor": CURSOR,
}
QUERY: dict[str, Schema] = {
    "limit": {**integer(1, MAX_OFFSET), "description": "Clamped to the bounds of the list"},
    "offset": integer(0, MAX_OFFSET),
    "cursor": CURSOR,
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
        after = self.offset + self.limit
        following = f"off:{after}" if after < total else None
        return pagination(total, self.limit, self.offset, following)


def pagination(total: int, limit: int, offset: int, following: str | None) -> dict[str, Any]:
    """Build the one `pagination` object of all lists. Spec: contract 3.1, 24, 40.

    `following` is the text of the next page's cursor, None on the last page. Official clients count
    in pages; for an offset between two pages they get the page that contains it.
    """
    shown: dict[str, Any] = {
        "total": total,
        "page": offset // limit + 1,
        "per_page": limit,
        "limit": limit,
        "offset": offset,
        "has_more": following is not None,
    }
    if following is not None:
        shown["next_cursor"] = encode_cursor(following)
    return shown


def encode_cursor(text: str) -> str:
    """Encode a cursor for the wire."""
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """Return the text of a cursor. Raises ValueError."""
    return base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()


def page(
    request: Request,
    *,
    default: int = DEFAULT_LIMIT,
    most: int = MAX_LIMIT,
    has_cursor: bool = True,
) -> Page:
    """Read the window of a request, at most `most` items. Raises InvalidRequest.

    `has_cursor` false leaves the cursor to the caller, whose cursors have another content.
    """
    query = request.query_params
    # all are checked, also parameters that another one overrides
    given = {name: _number(query.get(name), name, low) for name, low in LOWEST.items()}
    limit = min(given["per_page"] or given["limit"] or default, most)
    if has_cursor and (cursor := query.get("cursor")):
        return Page(limit, _offset_of(cursor))
    if given["page"]:
        return Page(limit, (given["page"] - 1) * limit)
    return Page(limit, given["offset"] or 0)


def admin_page(request: Request) -> Page:
    """Read the window of an admin list: `page` with `per_page`, or `limit` with `offset`.

    A cursor replaces both `page` and `offset`.
    Larger pages are clamped, lists end at DEEPEST. Raises InvalidRequest. Spec: contract 24.
    """
    query = request.query_params
    given = {name: _number(query.get(name), name, low) for name, low in LOWEST.items()}
    if given["per_page"] is None and given["limit"] is not None:
        limit = min(given["limit"], MAX_EXPORT)
    else:
        limit = min(given["per_page"] or ADMIN_LIMIT, MAX_PER_PAGE)
    if cursor := query.get("cursor"):
        name, offset = "cursor", _offset_of(cursor)
    elif given["page"]:
        name, offset = "page", (given["page"] - 1) * limit
    else:
        name, offset = "offset", given["offset"] or 0
    if offset > DEEPEST:
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
        offset = int(decode_cursor(cursor).removeprefix("off:"))
    except ValueError:
        offset = -1
    if not 0 <= offset <= MAX_OFFSET:
        raise InvalidRequest.field("cursor", "must be a cursor of this server", cursor[:100])
    return offset
