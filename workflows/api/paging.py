"""Cursors that name the last workflow of a page: what is created meanwhile shifts nothing.

Spec: contract 3.1, Paging.
"""

import base64
from collections.abc import Sequence
from typing import Any

from rest_framework.request import Request

from jobs.domain.ids import is_id
from workflows.domain.rows import FlowRow
from workflows.services.show import Window

BEHIND = "id"


def read_cursor(request: Request) -> str | None:
    """Return the workflow that the asked page is behind; None for any other cursor, or none."""
    cursor = request.query_params.get("cursor", "")
    try:
        text = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()
    except ValueError:
        return None
    kind, _, last = text.partition(":")
    return last if kind == BEHIND and is_id(last) else None


def encode_pagination(window: Window, rows: Sequence[FlowRow], total: int) -> dict[str, Any]:
    """Build the `pagination` object; `rows` may hold one more than the window."""
    shown: dict[str, Any] = {
        "total": total,
        "limit": window.limit,
        "offset": window.offset,
        "has_more": len(rows) > window.limit,
    }
    if shown["has_more"]:
        text = f"{BEHIND}:{rows[window.limit - 1].id}"
        shown["next_cursor"] = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    return shown
