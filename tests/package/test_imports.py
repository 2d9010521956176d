"""Each app imports only packages that the core or the app's own extra installs."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import NormalizedName, canonicalize_name

from jobs.domain.extras import MODULES
from tests.package.dist import ROOT, packages

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# the extras that an app needs besides the core; other apps need none
EXTRAS = {
    "console": ("console",),
    "federation": ("federation",),
    "ojs_project": ("server", "console", "federation"),
}
# modules that import a package late, or report its absence, with the package
OPTIONAL = {
    "encryption/management/commands/codecserver.py": "gunicorn",
    "jobs/api/document.py": "drf-spectacular",
    "jobs/domain/access/hashers.py": "argon2-cffi",
    "jobs/spans.py": "opentelemetry-api",
    "ojs_tasks/backends/compat.py": "django-tasks",  # where Django has no framework of its own
    "ojs_tasks/telemetry.py": "opentelemetry-sdk",
    "ojs_tasks/tracing.py": "opentelemetry-api",
    "ojs_tasks/pytest_plugin.py": "pytest",  # which loads it
    "scheduling/domain/yaml_text.py": "pyyaml",
}
OWN = {*packages(), "ojs_tasks"}
DISTRIBUTIONS = packages_distributions()


def declared(requirements: list[str]) -> set[NormalizedName]:
    """Return the names of the distributions in a list of requirements."""
    names = {canonicalize_name(Requirement(one).name) for one in requirements}
    return names - {canonicalize_name(PROJECT["name"])}


def imported(path: Path) -> Iterator[str]:
    """Yield the top-level modules of others that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            top = name.partition(".")[0]
            if top not in OWN and top not in sys.stdlib_module_names:
                yield top


@pytest.mark.parametrize("app", packages())
def test_an_app_imports_what_the_core_or_its_extra_installs(app: str) -> None:
    allowed = declared(PROJECT["dependencies"])
    for extra in EXTRAS.get(app, ()):
        allowed |= declared(PROJECT["optional-dependencies"][extra])
    undeclared = {
        (path, top)
        for file in (ROOT / app).rglob("*.py")
        for top in imported(file)
        if (path := str(file.relative_to(ROOT)))
        and {canonicalize_name(name) for name in DISTRIBUTIONS.get(top, [top])}.isdisjoint(
            {*allowed, OPTIONAL.get(path, "")}
        )
    }

    assert undeclared == set()


def test_only_listed_modules_import_optional_packages() -> None:
    for path, name in ((path, name) for path, name in OPTIONAL.items() if (ROOT / path).exists()):
        used = {canonicalize_name(one) for top in imported(ROOT / path)
                for one in DISTRIBUTIONS.get(top, [top])}  # fmt: skip
        assert name in used, path


@pytest.mark.parametrize("extra", MODULES)
def test_the_table_of_modules_has_every_package_of_an_extra(extra: str) -> None:
    found = {canonicalize_name(one) for module in MODULES[extra] for one in DISTRIBUTIONS[module]}

    assert found == declared(PROJECT["optional-dependencies"][extra])
