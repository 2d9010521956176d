"""Find the uses of Celery's workflows and retries in the source of tasks."""

import ast
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

CANVAS: Final = {
    "chord": "ojs_tasks.chain(group(…), callback.s()): results are in current_job().parent_results",
    "chain": "ojs_tasks.chain: results are in current_job().parent_results",
    "group": "ojs_tasks.group",
    "signature": "handler.s(…)",
    "chunks": "ojs_tasks.enqueue([…])",
    "starmap": "ojs_tasks.enqueue([…])",
}
KEYWORDS: Final = {"link": "ojs_tasks.chain", "link_error": "ojs_tasks.batch(…, on_failure=…)"}


def uses(module: str) -> list[str]:
    """Return a note for each use that needs a change by hand; none without a source."""
    found = find_spec(module)
    path = Path(found.origin) if found is not None and found.origin else None
    if path is None or not path.is_file():
        return []
    tree = ast.parse(path.read_text())
    imported = _imported(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [f"{module}:{call.lineno} {note}" for call in calls for note in _notes(call, imported)]


def _imported(tree: ast.Module) -> set[str]:
    return {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "celery"
        for alias in node.names
    }


def _notes(call: ast.Call, imported: set[str]) -> Iterator[str]:
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name in imported and name in CANVAS:
        yield f"uses {name}: use {CANVAS[name]}"
    for keyword in call.keywords:
        if keyword.arg in KEYWORDS:
            yield f"uses {keyword.arg}=: use {KEYWORDS[keyword.arg]}"
