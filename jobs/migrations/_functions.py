"""Installs the stored functions from their source files; one version is alive at a time."""

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "sql" / "functions"
ORDER = (
    "time", "fingerprint", "matches", "queue_of", "offered", "fresh", "in_force", "make_queues",
    "loads", "present", "joined", "served", "present_shared", "raised", "rejoin", "known", "awake",
    "wake", "release", "give_back", "heard", "lowest", "usage", "room", "unique_hits", "unique_pass", "open", "turns", "turn_now",
    "turn_keys", "turn_keep", "in_order", "settle", "spend", "claim", "explain", "outlook",
    "tenant_labels", "reduced", "audit_kept", "ends",
)  # fmt: skip


def install(_apps: Any, schema_editor: Any) -> None:
    """Create or replace every function. Changed signatures are dropped first by name."""
    with schema_editor.connection.cursor() as cursor:
        for name in ("claim", "open", "turns", "unique_hits"):
            cursor.execute(f"DROP FUNCTION IF EXISTS ojs_{name}")
        create(cursor)


def create(cursor: Any) -> None:
    """Make every function in the schema that the session's search path begins with."""
    for name in ORDER:
        cursor.execute((FOLDER / f"{name}.sql").read_text())


def remove(_apps: Any, schema_editor: Any) -> None:
    """Drop every function, the callers first."""
    with schema_editor.connection.cursor() as cursor:
        for name in reversed(ORDER):
            cursor.execute(f"DROP FUNCTION IF EXISTS ojs_{name}")
