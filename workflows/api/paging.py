"""Cursors that name the last workflow of a page, so new workflows do not shift later pages.

Spec: contract 3.1, Paging.
"""

from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request

from jobs.api.wire.paging import decode_cursor, pagination
from jobs.domain.wire.ids import is_id
from workflows.domain.rows import FlowRow
from workflows.services.show import Window

BEHIND = "id"


def read_cursor(request: Request) -> str | None:
    """Return the id in the cursor, behind which the page starts; None for any other cursor."""
    cursor = request.query_params.get("cursor", "")
    try:
        text = decode_cursor(cursor)
    except ValueError:
        return None
    kind, _, last = text.partition(":")
    return last if kind == BEHIND and is_id(last) else None


def encode_pagination(window: Window, rows: Sequence[FlowRow], total: int) -> dict[str, Any]:
    """Build the `pagination` object; `rows` may hold one row more than the window."""
    has_more = len(rows) > window.limit
    following = f"{BEHIND}:{rows[window.limit - 1].id}" if has_more else None
    return pagination(total, window.limit, window.offset, following)
