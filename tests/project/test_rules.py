"""The house rules that a machine can hold."""

import ast
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from django.urls import get_resolver

from jobs.domain.errors import OJSError
from jobs.migrations import _functions
from tests.conftest import ROOT

APPS = sorted(path.parent for name in ("queries.py", "queries") for path in ROOT.glob(f"*/{name}"))
SQL = sorted(path for app in APPS for path in (app / "sql").rglob("*.sql"))
RUN = r"\b(?:_rows|_hot_rows|run|run_hot)\('(\w+)'"
FUNCTIONS = sorted((ROOT / "jobs" / "sql" / "functions").glob("*.sql"))


def named(paths: list[Path]) -> list[str]:
    """Return readable ids for paths."""
    return [str(path.relative_to(ROOT)) for path in paths]


# --- SQL ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SQL, ids=named(SQL))
def test_5_a_statement_begins_with_a_comment_that_names_it(path: Path) -> None:
    name = f"ojs_{path.stem}" if path.parent.name == "functions" else path.stem

    assert re.match(rf"-- {name}: \S.* \S", path.read_text())


@pytest.mark.parametrize("path", SQL, ids=named(SQL))
def test_5_comments_have_no_percent_sign_and_lines_fit(path: Path) -> None:
    for line in path.read_text().splitlines():
        assert len(line) <= 105
        assert "%" not in line.partition("--")[2], "the driver reads it"


def statements_used(app: Path) -> Counter[str]:
    """Count for every statement the functions of `queries` that run it."""
    used: Counter[str] = Counter()
    for path in app.glob("queries*"):
        for part in sorted(path.glob("*.py")) or [path]:
            for function in ast.parse(part.read_text()).body:
                if isinstance(function, ast.FunctionDef):
                    used.update(set(re.findall(RUN, ast.unparse(function))))
    return used


@pytest.mark.parametrize("app", APPS, ids=named(APPS))
def test_5_every_statement_has_exactly_one_function(app: Path) -> None:
    files = {path.stem for path in (app / "sql").glob("*.sql")}

    assert statements_used(app) == dict.fromkeys(files, 1)


def test_every_stored_function_is_installed_and_no_other() -> None:
    assert sorted(_functions.ORDER) == [path.stem for path in FUNCTIONS]


@pytest.mark.parametrize("path", FUNCTIONS, ids=named(FUNCTIONS))
def test_a_stored_function_has_the_name_of_its_file(path: Path) -> None:
    made = re.findall(r"CREATE OR REPLACE FUNCTION (\w+)", path.read_text())

    assert made == [f"ojs_{path.stem}"]


def test_1_no_other_file_of_an_app_has_a_cursor_or_sql() -> None:
    allowed = {"queries.py", "statements.py", "_functions.py"}
    for app in APPS:
        for path in app.rglob("*.py"):
            if path.name not in allowed and path.parent.name not in {"migrations", "queries"}:
                assert not re.search(r"\.cursor\(|\.raw\(|RawSQL", path.read_text()), path


# --- errors ---------------------------------------------------------------------------------------

ROW = re.compile(r"^\| `(\w+)` \| (\d{3}) \| (yes|no) \| .+ \|$", re.MULTILINE)


def errors(base: type[OJSError] = OJSError) -> set[tuple[str, str, str]]:
    """Return (code, status, retryable) of every error there is."""
    assert get_resolver().url_patterns  # whatever can answer is loaded
    found = set()
    for kind in base.__subclasses__():
        if hasattr(kind, "code"):
            found.add((kind.code, str(kind.status), "yes" if kind.retryable else "no"))
        found |= errors(kind)
    return found


def test_6_every_error_code_is_documented_and_no_other() -> None:
    assert set(ROW.findall((ROOT / "docs" / "errors.md").read_text())) == errors()


def test_6_one_class_is_one_code_and_one_status() -> None:
    kinds = [kind for kind in OJSError.__subclasses__() if hasattr(kind, "code")]

    assert len({(kind.code, kind.status) for kind in kinds}) == len(kinds)
    assert all(kind.hint for kind in kinds)


# --- files ----------------------------------------------------------------------------------------

LOCKS = sorted(ROOT.glob("*.lock"))
MACHINE_PATH = re.compile(r"(?<![\w.}$\])/])/(?:home|tmp|root|opt|work|Users|mnt|srv|private)/\w")


def tracked() -> list[Path]:
    """Return the text files under version control."""
    done = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 - whichever git there is
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    paths = [ROOT / name for name in done.stdout.split("\0") if name]
    return [path for path in paths if path.is_file() and b"\0" not in path.read_bytes()[:8000]]


@pytest.mark.parametrize("path", LOCKS, ids=named(LOCKS))
def test_a_lock_pins_versions_and_names_no_index(path: Path) -> None:
    for line in path.read_text().splitlines():
        assert "://" not in line
        if not line.startswith(("#", " ")):
            assert re.fullmatch(r"[A-Za-z0-9._-]+(\[[a-z,-]+\])?==[^ ]+( ; .+)?( \\)?", line), line


def test_no_file_names_a_place_on_somebodys_machine() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout")
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in tracked()
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]

    assert found == []


# --- requests to others ---------------------------------------------------------------------------

OUTBOUND = re.compile(
    r"^\s*(?:import|from) (?:aiohttp|ftplib|http\.client|httpx|requests|smtplib|socket|urllib3?"
    r"(?:\.request)?)\b(?!\.parse)",
    re.MULTILINE,
)
# Each module sends to an address that jobs/services/resolve.py judged, or to this machine alone.
SENDERS = {
    "federation/transport.py",
    "federation/wire.py",
    "jobs/services/resolve.py",
    "ojs_project/management/commands/quickstart.py",  # probes its own server
    "webhooks/services/post.py",
}


def test_only_known_modules_open_connections_to_others() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix == ".py" and path.relative_to(ROOT).parts[0] not in {"tests", "bench"}
        and OUTBOUND.search(path.read_text())
    }  # fmt: skip

    assert found == SENDERS
