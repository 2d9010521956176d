"""The project's rules that a test can check."""

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from hashlib import sha256
from importlib import metadata
from itertools import pairwise
from pathlib import Path

import pytest
from django.urls import get_resolver

from jobs import extensions
from jobs.domain.errors import OJSError
from tests.conftest import ROOT, statements_in

APPS = sorted(path.parent for name in ("queries.py", "queries") for path in ROOT.glob(f"*/{name}"))
SQL = sorted(path for app in APPS for path in (app / "sql").rglob("*.sql"))
RUN = r"\b(?:_rows|_hot_rows|run|run_hot|run_kept|run_pooled)\('(\w+)'"
FUNCTIONS_FOLDER = ROOT / "jobs" / "sql" / "functions"
FUNCTIONS = sorted(FUNCTIONS_FOLDER.rglob("*.sql"))
FUNCTIONS.remove(FUNCTIONS_FOLDER / "types.sql")


def named(paths: list[Path]) -> list[str]:
    """Return readable ids for paths."""
    return [str(path.relative_to(ROOT)) for path in paths]


# --- SQL ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SQL, ids=named(SQL))
def test_a_statement_begins_with_a_comment_that_names_it(path: Path) -> None:
    name = f"ojs_{path.stem}" if path in FUNCTIONS else path.stem

    assert re.match(rf"-- {name}: \S.* \S", path.read_text())


@pytest.mark.parametrize("path", SQL, ids=named(SQL))
def test_comments_have_no_percent_sign_and_lines_fit(path: Path) -> None:
    for line in path.read_text().splitlines():
        assert len(line) <= 105
        assert "%" not in line.partition("--")[2], "the driver reads it"


def statements_used(app: Path) -> Counter[str]:
    """Count the functions of `queries` that run each statement."""
    used: Counter[str] = Counter()
    for path in app.glob("queries*"):
        for part in sorted(path.glob("*.py")) or [path]:
            for function in ast.parse(part.read_text()).body:
                if isinstance(function, ast.FunctionDef):
                    used.update(set(re.findall(RUN, ast.unparse(function))))
    return used


@pytest.mark.parametrize("app", APPS, ids=named(APPS))
def test_every_statement_has_exactly_one_function(app: Path) -> None:
    """A statement's name is unique over all folders. Parts of statements have no function."""
    files = Counter(statements_in(app))

    assert statements_used(app) == files == dict.fromkeys(files, 1)


@pytest.mark.parametrize("path", FUNCTIONS, ids=named(FUNCTIONS))
def test_a_stored_function_has_the_name_of_its_file(path: Path) -> None:
    made = re.findall(r"CREATE OR REPLACE FUNCTION (\w+)", path.read_text())

    assert made == [f"ojs_{path.stem}"]


LINES, VARIABLES = 150, 25
DECLARED = re.compile(r"^DECLARE\n(.*?)^BEGIN$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", FUNCTIONS, ids=named(FUNCTIONS))
def test_a_stored_function_is_short_enough_to_be_read_at_once(path: Path) -> None:
    text = path.read_text()
    variables = re.findall(r"^ {4}\w+ [^;]+;", "".join(DECLARED.findall(text)), re.MULTILINE)

    assert len(text.splitlines()) <= LINES
    assert len(variables) <= VARIABLES


STEPS = [path for path in FUNCTIONS if path.parent.name in {"claim", "explain"}]


@pytest.mark.parametrize("path", STEPS, ids=named(STEPS))
def test_each_step_of_the_claim_is_called_by_a_test_of_its_own(path: Path) -> None:
    tests = (ROOT / "tests" / "jobs" / "sql").rglob("*.py")

    assert any(re.search(rf"\bojs_{path.stem}\b", test.read_text()) for test in tests)


def test_no_other_file_of_an_app_has_a_cursor_or_sql() -> None:
    allowed = {"queries.py", "statements.py", "_functions.py"}
    for app in APPS:
        for path in app.rglob("*.py"):
            if path.name not in allowed and path.parent.name not in {"migrations", "queries"}:
                assert not re.search(r"\.cursor\(|\.raw\(|RawSQL", path.read_text()), path


# --- errors ---------------------------------------------------------------------------------------

ROW = re.compile(r"^\| `(\w+)` \| (\d{3}) \| (yes|no) \| .+ \|$", re.MULTILINE)


def errors(base: type[OJSError] = OJSError) -> set[tuple[str, str, str]]:
    """Return (code, status, retryable) of every error."""
    assert get_resolver().url_patterns  # loads every view, and so every error
    found = set()
    for kind in base.__subclasses__():
        if hasattr(kind, "code"):
            found.add((kind.code, str(kind.status), "yes" if kind.retryable else "no"))
        found |= errors(kind)
    return found


def test_every_error_code_is_documented_and_no_other() -> None:
    extensions.installed()  # imports the errors of extensions
    assert set(ROW.findall((ROOT / "docs" / "errors.md").read_text())) == errors()


def test_one_class_is_one_code_and_one_status() -> None:
    kinds = [kind for kind in OJSError.__subclasses__() if hasattr(kind, "code")]

    assert len({(kind.code, kind.status) for kind in kinds}) == len(kinds)
    assert all(kind.hint for kind in kinds)


# --- files ----------------------------------------------------------------------------------------

LOCKS = sorted(ROOT.glob("*.lock"))
MACHINE_PATH = re.compile(r"(?<![\w.}$\])/])/(?:home|tmp|root|opt|work|Users|mnt|srv|private)/\w")


def tracked() -> list[Path]:
    """Return the text files under version control."""
    done = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607 - any git on the PATH
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


@pytest.mark.parametrize("path", LOCKS, ids=named(LOCKS))
def test_a_lock_has_every_package_that_the_project_names(path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    chosen = [name for extra in extras if extra in path.name for name in extras[extra]]
    wanted = {re.split(r"[\[<>=;]", one)[0] for one in [*project["dependencies"], *chosen]}
    locked = {re.split(r"[\[=]", line)[0] for line in path.read_text().splitlines()}

    assert wanted - locked == set()


@cache
def locked(name: str) -> set[str]:
    """Return the packages of a lock by canonical name."""
    lines = (ROOT / name).read_text().splitlines()
    return {canonical(re.split(r"[\[=]", line)[0]) for line in lines}


def canonical(name: str) -> str:
    """Return the name of a package in the spelling of locks."""
    return re.sub(r"[-_.]+", "-", name).lower()


def modules(path: Path) -> set[str]:
    """Return the top-level modules that a file imports or runs with `-m`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import(names=names):
                found |= {one.name for one in names}
            case ast.ImportFrom(module=str(name), level=0):
                found.add(name)
            case ast.List(elts=elts) | ast.Tuple(elts=elts) | ast.Call(args=elts):
                words = [one.value if isinstance(one, ast.Constant) else None for one in elts]
                found |= {str(b) for a, b in pairwise(words) if a == "-m" and isinstance(b, str)}
    return {name.split(".")[0] for name in found}


OF_EVERY_VIRTUALENV = {"pip"}
# modules that the python of the system runs, each with a lock of its own
OF_THE_SYSTEM = {"patroni": "bench/drills/patroni.lock"}


def lock_of(path: Path, module: str) -> str:
    """Return the lock that has to name the package of a module."""
    usual = "requirements-dev.lock" if is_development(path) else "requirements.lock"
    return OF_THE_SYSTEM.get(module, usual)


def test_what_is_imported_or_run_is_in_the_lock() -> None:
    """A virtualenv may still have packages of an earlier lock, which would hide a missing entry."""
    owners = metadata.packages_distributions()
    wrong = [
        f"{path.relative_to(ROOT)}: {module}"
        for path in (one for one in tracked() if one.suffix == ".py")
        for module in sorted(modules(path) - set(sys.stdlib_module_names) - OF_EVERY_VIRTUALENV)
        if not (ROOT / module).exists()
        and not locked(lock_of(path, module))
        & {canonical(owner) for owner in owners.get(module, [module])}
    ]

    assert wrong == []


def is_development(path: Path) -> bool:
    """Return whether a file needs the development packages."""
    parts = path.relative_to(ROOT).parts
    # their imports are optional
    if parts in {
        ("jobs", "spans.py"), ("ojs_tasks", "backends", "compat.py"),
        ("ojs_tasks", "pytest_plugin.py"),
    }:  # fmt: skip
        return True
    is_bench = parts[:2] in {("bench", "console"), ("bench", "faults")}
    return is_bench or parts[0] == "tests" or parts[:2] == ("docs", "site")


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


def test_no_tracked_link_leaves_the_repository() -> None:
    done = subprocess.run(
        ["git", "ls-files", "-s", "-z"],  # noqa: S607 - any git on the PATH
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    links = [ROOT / line.split("\t")[1] for line in done.stdout.split("\0") if line[:6] == "120000"]

    leaving = [
        str(link.relative_to(ROOT))
        for link in links
        if link.readlink().is_absolute()
        or not link.resolve().is_relative_to(ROOT)
        or not link.exists()
    ]

    assert leaving == []


# --- tests ----------------------------------------------------------------------------------------


def test_tests_of_properties_try_more_examples_in_the_long_run() -> None:
    """A number that `tests.effort` does not scale would cost its time in every run."""
    found = {
        f"{path.relative_to(ROOT)}:{node.value.lineno}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.keyword)
        and node.arg == "max_examples"
        and not ast.unparse(node.value).startswith("examples(")
    }

    assert not found


# --- files of others ------------------------------------------------------------------------------

VENDOR = ROOT / "console" / "static" / "ojs" / "vendor"
VENDORED = re.compile(
    r"^\| `([^`]+)` \| \S+ \| [\d.]+ \| \w.+ \| `([0-9a-f]{64})` \|$", re.MULTILINE
)


def test_each_script_of_others_is_what_its_table_says() -> None:
    found = {
        path.name: sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.iterdir()
        if path.name != "README.md"
    }

    assert dict(VENDORED.findall((VENDOR / "README.md").read_text())) == found


def test_no_script_of_others_stands_elsewhere() -> None:
    minified = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix in {".js", ".css"}
        and path.parent != VENDOR
        and any(len(line) > 500 for line in path.read_text(errors="replace").splitlines())
    ]

    assert minified == []


def test_no_published_case_is_in_the_repository() -> None:
    cases = [
        str(path.relative_to(ROOT))
        for path in tracked()
        if path.suffix == ".json" and '"test_id"' in path.read_text(errors="replace")
    ]

    assert cases == []


# --- loops ----------------------------------------------------------------------------------------

ARRIVES = "libpq says when the answer is complete; the server's bounds end a statement"
THREAD = "runs until its process or thread is told to end"
SHRINKS = "each turn takes from what was there at the start"
PAGES = "each turn goes on behind the last; what is added meanwhile is met once"
TIMED = "ends at a time that was set before it began"
GENERATOR = "yields each turn: whoever asks ends it"
BOUNDED = "a bound is tested in the body"
DRIVEN = "ends with the generator that it drives, whose loops are bounded"
# A loop without a bound can hold a transaction or a thread for ever. Repeat a number of times (`for
# _ in range(TRIES)`) and raise, or add the file here with the reason why its loop ends.
WHILE = {
    "jobs/services/record/past.py": "each turn takes an event of at most MOST",
    "console/operations.py": SHRINKS,
    "federation/client/aio.py": THREAD,
    "federation/client/enqueueing.py": BOUNDED,
    "federation/client/sync.py": THREAD,
    "federation/management/commands/adopt_jobs.py": PAGES,
    "federation/management/commands/forget_copies.py": SHRINKS,
    "federation/services/replication/adopt.py": BOUNDED,
    "federation/services/health/attend.py": SHRINKS,
    "federation/services/replication/forget_region.py": BOUNDED,
    "federation/services/routing/place.py": BOUNDED,
    "federation/transport.py": BOUNDED,
    "federation/wire.py": TIMED,
    "jobs/api/record/live.py": THREAD,
    "jobs/api/record/follow.py": PAGES,
    "jobs/fastpath/deferred_metrics.py": THREAD,
    "jobs/fastpath/statements.py": ARRIVES,
    "jobs/gather.py": SHRINKS,
    "jobs/pulse.py": THREAD,
    "jobs/loops.py": THREAD,
    "jobs/management/commands/migrate.py": TIMED,
    "jobs/services/access/api_keys.py": SHRINKS,
    "jobs/services/audit/audit.py": SHRINKS,
    "jobs/services/enqueue/backpressure.py": BOUNDED,
    "jobs/services/enqueue/enqueue_each.py": SHRINKS,
    "jobs/services/cells/moving_access.py": PAGES,
    "jobs/services/cells/moving_jobs.py": SHRINKS,
    "jobs/services/dispatch/fetch.py": DRIVEN,
    "jobs/services/outcome/retain.py": SHRINKS,
    "jobs/services/read/awaiting.py": THREAD,
    "jobs/services/record/runs.py": SHRINKS,
    "jobs/services/storage/schema.py": TIMED,
    "jobs/services/access/verified.py": SHRINKS,
    "jobs/services/health/vitals.py": SHRINKS,
    "jobs/services/dispatch/waiting.py": TIMED,
    "jobs/connection_pool.py": SHRINKS,
    "jobs/stream/feed.py": THREAD,
    "jobs/stream/subscription.py": TIMED,
    "jobs/worker/claimer.py": THREAD,
    "jobs/worker/notices.py": SHRINKS,
    "jobs/worker/schedules.py": THREAD,
    "ojs_project/database/guard.py": THREAD,
    "ojs_tasks/local/testing.py": BOUNDED,
    "ojs_project/folder.py": TIMED,
    "ojs_project/postgres.py": TIMED,
    "ojs_project/quickstart.py": THREAD,
    "ojs_project/serving/listeners.py": SHRINKS,
    "ojs_project/serving/request_queue.py": SHRINKS,
    "ojs_project/serving/server.py": THREAD,
    "ojs_project/serving/trips.py": SHRINKS,
    "ojs_project/serving/worker.py": THREAD,
    "ojs_project/supervisor.py": THREAD,
    "ojs_tasks/remote/claims.py": THREAD,
    "ojs_tasks/remote/client.py": DRIVEN,
    "ojs_tasks/remote/flows.py": TIMED,
    "ojs_tasks/remote/operations.py": TIMED,
    "ojs_tasks/remote/reconciling.py": THREAD,
    "ojs_tasks/remote/schedules.py": PAGES,
    "ojs_tasks/step_runs.py": "ends with the steps that run, whose attempt has a timeout",
    "ojs_tasks/worker/acker.py": THREAD,
    "ojs_tasks/worker/beats.py": THREAD,
    "ojs_tasks/worker/engine.py": TIMED,
    "ojs_tasks/worker/event_loop.py": THREAD,
    "ojs_tasks/worker/in_flight.py": THREAD,
    "ojs_tasks/worker/pool.py": THREAD,
    "ojs_tasks/worker/signals.py": THREAD,
    "ojs_tasks/worker/slots.py": THREAD,
    "ojs_tasks/worker/timeouts.py": THREAD,
    "scheduling/domain/cron.py": GENERATOR,
    "scheduling/domain/scenario.py": GENERATOR,
    "scheduling/domain/simulation.py": SHRINKS,
    "scheduling/services/cron_slots.py": SHRINKS,
    "scheduling/services/simulate.py": TIMED,
    "tenancy/services/move.py": TIMED,
    "versioning/domain/comparison.py": SHRINKS,  # a schema with circular references is refused
    "versioning/domain/schema_load.py": SHRINKS,
    "versioning/domain/validator.py": SHRINKS,
    "versioning/services/redraw.py": PAGES,
    "webhooks/services/send.py": THREAD,
    "workflows/services/advance.py": SHRINKS,
    "workflows/services/begin.py": SHRINKS,
}
ENDLESS = {"count", "cycle", "repeat"}


def product() -> list[Path]:
    """Return the source files that run in a server."""
    apps = [path.parent for path in ROOT.glob("*/apps.py")]
    return sorted(
        path for app in apps for path in app.rglob("*.py") if "migrations" not in path.parts
    )


def repeats(node: ast.AST, text: str) -> bool:
    """Return whether a node is a loop without a bound on its rounds."""
    if isinstance(node, ast.While):
        return True
    if not (isinstance(node, ast.For | ast.AsyncFor) and isinstance(node.iter, ast.Call)):
        return False
    name = ast.unparse(node.iter.func).rpartition(".")[2]
    if name == "iter":
        return len(node.iter.args) > 1
    return name in ENDLESS and "itertools" in text


def test_every_loop_without_a_number_of_turns_is_known_with_what_ends_it() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in product()
        for text in (path.read_text(),)
        if any(repeats(node, text) for node in ast.walk(ast.parse(text)))
    }

    assert found - WHILE.keys() == set(), "bound the loop, or say what ends it"
    assert WHILE.keys() - found == set(), "the list names files without such a loop"


# --- requests to others ---------------------------------------------------------------------------

OUTBOUND = re.compile(
    r"^\s*(?:import|from) (?:aiohttp|ftplib|http\.client|httpx|requests|smtplib|socket|urllib3?"
    r"(?:\.request)?)\b(?!\.parse)",
    re.MULTILINE,
)
# Each module sends only to addresses that jobs/services/outbound/resolve.py checked or to this
# machine, or handles sockets that another module opened.
SENDERS = {
    "federation/transport.py",
    "federation/wire.py",
    "jobs/services/outbound/resolve.py",
    "ojs_project/database/guard.py",  # ends connections to the database
    "ojs_project/management/commands/quickstart.py",  # probes its own server
    "ojs_project/serving/connections.py",  # serves clients
    "ojs_project/serving/listeners.py",  # serves clients
    "ojs_project/serving/server.py",  # serves clients
    "ojs_project/serving/streams.py",  # serves clients
    "ojs_tasks/remote/client.py",  # to the server that the settings of a host name
    "webhooks/services/failures.py",  # names the errors of post.py, opens nothing
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


# --- the database ---------------------------------------------------------------------------------

OF_HOST = {"connection", "transaction", "DEFAULT_DB_ALIAS"}  # of django.db: the default database


def default_database_in(path: Path) -> set[str]:
    """Return the names of Django's default database that a file imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.ImportFrom(module="django.db", names=names):
                found |= {one.name for one in names} & OF_HOST
            case ast.ImportFrom(module="django.db.transaction" | "django.db.utils", names=names):
                found |= {one.name for one in names} & {"atomic", "on_commit", *OF_HOST}
    return found


def test_only_known_modules_know_the_database_of_the_host() -> None:
    """The Python API waits for the commit of the host's transaction.

    Ruff bans these names too, but not in the folders that may import Django's HTTP types.
    """
    found = {str(path.relative_to(ROOT)) for path in product() if default_database_in(path)}

    assert found == {
        "jobs/database.py",
        "jobs/management/commands/migrate.py",
        "ojs_tasks/backends/base.py",
        "ojs_tasks/management/commands/migrate_from_django_q.py",  # of the tables of django-q2
        "ojs_tasks/remote/on_commit.py",
    }
