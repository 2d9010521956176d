"""Find the functions that write the tables of the configuration outside of a recorded block.

The search reads the code without running it. A function writes if it calls the ORM for a model of a
configuration, or runs a statement that changes its table. A function that calls or names such a
function writes, too, unless it does so in a block of `recorded` or `configured`.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.conftest import ROOT

GUARD: Final = re.compile(r"\b(?:recorded|configured|_changing|_recorded)\(")
WRITE: Final = re.compile(
    r"\.(?:create|bulk_create|bulk_update|update_or_create|get_or_create|update|delete)\("
)
RUN: Final = re.compile(r"run\w*|begin\w*|_(?:hot_)?rows|rows")  # functions that take a statement
ROW: Final = re.compile(r"^(\w+)\.(?:save|delete)\($")
ROWS: Final = re.compile(r"\.all\(\)\.(?:update|delete)\($")
APART: Final = ("migrations", "tests", "docs", "bench", "deploy", "examples", ".manual", "dist")


@dataclass(slots=True)
class Function:
    """A function of the product: what it names outside of recorded blocks, and anywhere."""

    name: str  # with its module
    path: Path
    writes: bool = False
    names: set[str] = field(default_factory=set)
    guarded: set[str] = field(default_factory=set)


def sources() -> Iterator[tuple[str, Path]]:
    """Return the modules of the product."""
    for app in sorted(ROOT.iterdir()):
        if not app.is_dir() or app.name in APART or app.name.startswith("."):
            continue
        for path in sorted(app.rglob("*.py")):
            if not set(path.relative_to(ROOT).parts) & set(APART):
                parts = path.relative_to(ROOT).with_suffix("").parts
                yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def statements_that_write(tables: set[str]) -> set[tuple[str, str]]:
    """Return the statements that change one of these tables: app and name."""
    change = re.compile(
        rf"\b(?:INSERT INTO|UPDATE|DELETE FROM|MERGE INTO)\s+(?:ONLY\s+)?({'|'.join(tables)})\b"
    )
    paths = (path for app in ROOT.glob("*/sql") for path in app.rglob("*.sql"))
    return {
        (path.relative_to(ROOT).parts[0], path.stem)
        for path in paths
        if change.search(path.read_text())
    }


class Module(ast.NodeVisitor):
    """The functions of a module."""

    def __init__(
        self, module: str, path: Path, models: set[str], statements: set[tuple[str, str]]
    ) -> None:
        """Read a module: its imports, then its functions."""
        self.module, self.path, self.models, self.statements = module, path, models, statements
        self.functions: dict[str, Function] = {}
        self.imported: dict[str, str] = {}
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for one in node.names:
                    self.imported[one.asname or one.name] = f"{node.module}.{one.name}"
        self.own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        self.models = {
            alias
            for alias, whole in self.imported.items()
            if whole.rpartition(".")[2] in models and ".models" in whole
        } | {f"models.{name}" for name in models if "models" in self.imported}
        self._current: Function | None = None
        self._is_guarded = False
        self.visit(tree)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Read a function; the functions inside belong to it."""
        if self._current is not None:
            self.generic_visit(node)
            return
        name = f"{self.module}.{node.name}"
        self._current = self.functions.setdefault(name, Function(name, self.path))
        if any("contextmanager" in ast.unparse(one) for one in node.decorator_list):
            self._is_guarded = bool(GUARD.search(ast.unparse(node)))
        self.generic_visit(node)
        self._current, self._is_guarded = None, False

    def visit_With(self, node: ast.With) -> None:
        """Read a block; the rest of an ExitStack counts as its block."""
        before = self._is_guarded
        items = " ".join(ast.unparse(one.context_expr) for one in node.items)
        whole = ast.unparse(node)
        is_stack = "ExitStack(" in items and re.search(r"enter_context\(recorded\(", whole)
        for item in node.items:
            self.visit(item)
        self._is_guarded = before or bool(GUARD.search(items)) or bool(is_stack)
        for one in node.body:
            self.visit(one)
        self._is_guarded = before

    def visit_Call(self, node: ast.Call) -> None:
        """Note a write by the ORM, or by a statement."""
        if self._current is not None and not self._is_guarded and self._writes(node):
            self._current.writes = True
        self.generic_visit(node)

    def _writes(self, node: ast.Call) -> bool:
        if isinstance(node.func, ast.Name) and RUN.fullmatch(node.func.id):
            first = node.args[0] if node.args else None
            app = self.module.partition(".")[0]
            return isinstance(first, ast.Constant) and (app, first.value) in self.statements
        text = f"{ast.unparse(node.func)}("
        if any(re.match(rf"{re.escape(name)}\.objects\b", text) for name in self.models):
            return bool(WRITE.search(text))
        row = ROW.search(text)
        is_row = row is not None and row[1] not in {"self", "super", *self.imported}
        return bool(self.models) and (is_row or bool(ROWS.search(text)))

    def visit_Name(self, node: ast.Name) -> None:
        """Note a function that is called or passed on."""
        self._named(
            f"{self.module}.{node.id}" if node.id in self.own else self.imported.get(node.id)
        )

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Note a function of an imported module."""
        if isinstance(node.value, ast.Name) and node.value.id in self.imported:
            self._named(f"{self.imported[node.value.id]}.{node.attr}")
        self.generic_visit(node)

    def _named(self, name: str | None) -> None:
        if self._current is not None and name is not None:
            (self._current.guarded if self._is_guarded else self._current.names).add(name)


def functions(models: set[str], tables: set[str]) -> dict[str, Function]:
    """Return the functions of the product by name."""
    statements = statements_that_write(tables)
    found: dict[str, Function] = {}
    for module, path in sources():
        found |= Module(module, path, models, statements).functions
    aliases = _aliases(found)
    for one in found.values():
        one.names = {aliases.get(name, name) for name in one.names}
        one.guarded = {aliases.get(name, name) for name in one.guarded}
    return found


def _aliases(found: Mapping[str, Function]) -> dict[str, str]:
    """Map functions that a package imports from its modules to their own names."""
    aliases: dict[str, str] = {}
    for module, path in sources():
        if path.name != "__init__.py":
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for one in node.names:
                    whole = f"{node.module}.{one.name}"
                    if whole in found:
                        aliases[f"{module}.{one.asname or one.name}"] = whole
    return aliases


def unrecorded(found: Mapping[str, Function], exempt: set[str]) -> dict[str, str]:
    """Return the functions that write the configuration and that no recorded block calls.

    The value is the function by which it writes. Functions in `exempt` do not count.
    """
    writers = {name: name for name, one in found.items() if one.writes and name not in exempt}
    while True:
        more = {
            name: next(iter(one.names & writers.keys()))
            for name, one in found.items()
            if name not in writers and name not in exempt and one.names & writers.keys()
        }
        if not more:
            break
        writers |= more
    called = {name for one in found.values() for name in one.names | one.guarded}
    return {name: by for name, by in sorted(writers.items()) if name not in called}
