"""Installs the stored functions from their source files; one version is alive at a time."""

from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "sql" / "functions"
ORDER = ("time", "present", "wake", "release", "claim")


def install(_apps: Any, schema_editor: Any) -> None:
    """Create or replace every function. Changed signatures are dropped first by name."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("DROP FUNCTION IF EXISTS ojs_claim")
        for name in ORDER:
            cursor.execute((FOLDER / f"{name}.sql").read_text())


def remove(_apps: Any, schema_editor: Any) -> None:
    """Drop every function, the callers first."""
    with schema_editor.connection.cursor() as cursor:
        for name in reversed(ORDER):
            cursor.execute(f"DROP FUNCTION IF EXISTS ojs_{name}")
