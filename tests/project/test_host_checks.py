"""`manage.py check` in a host project names what is wrong, and the cure."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.checks import CheckMessage
from django.db import connections

from console.checks import check_cluster
from jobs import checks_database
from jobs.database_router import Router
from ojs_tasks import checks
from tests.ojs_tasks.backends import framework
from tests.project import hosting
from tests.project.hosting import Host

APPS = ["ojs_tasks", *hosting.CORE]
SQLITE = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
OWN_APP = """
from django.apps import AppConfig
class JobsConfig(AppConfig):
    name = "jobs"
"""


def without(name: str, listed: Sequence[str] = (*APPS, *hosting.ALL)) -> list[str]:
    """Return a list of apps without one of them."""
    return [one for one in dict.fromkeys(listed) if one.partition(".apps.")[0] != name]


# --- missing apps ---------------------------------------------------------------------------------


def lacks(monkeypatch: pytest.MonkeyPatch, installed: Sequence[str], **ojs: Any) -> list[str]:
    """Return what the check of apps reports for these apps."""
    monkeypatch.setattr(checks, "settings", SimpleNamespace(INSTALLED_APPS=installed, OJS=ojs))
    return [f"{one.id} {one.msg}; {one.hint}" for one in checks.check_apps()]


def test_the_apps_of_the_documentation_are_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lacks(monkeypatch, APPS) == []
    assert lacks(monkeypatch, [*APPS, *hosting.ALL], EXTENSIONS=hosting.EXTENSIONS) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("rest_framework", "ojs.E032 the app 'jobs' needs the app 'rest_framework';"
         " add 'rest_framework' to INSTALLED_APPS"),
        ("django.contrib.auth", "ojs.E032 the app 'jobs' needs the app 'django.contrib.auth';"
         " add 'django.contrib.auth' to INSTALLED_APPS"),
        ("django.contrib.sessions", "ojs.E032 the app 'console' needs the app"
         " 'django.contrib.sessions'; add 'django.contrib.sessions' to INSTALLED_APPS"),
        ("tenancy", "ojs.E032 OJS['EXTENSIONS'] lists 'tenancy.extension.Tenancy', which needs the"
         " app 'tenancy'; add 'tenancy.apps.TenancyConfig' to INSTALLED_APPS"),
        ("jobs", "ojs.E031 the app 'jobs' is missing, and OJS['SERVER'] is not set; add"
         " 'jobs.apps.JobsConfig' to INSTALLED_APPS, or set OJS['SERVER'] to the URL of a server"),
    ],
)  # fmt: skip
def test_a_missing_app_is_named(monkeypatch: pytest.MonkeyPatch, name: str, problem: str) -> None:
    assert lacks(monkeypatch, without(name), EXTENSIONS=hosting.EXTENSIONS) == [problem]


def test_a_project_with_a_server_elsewhere_needs_no_other_app(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert lacks(monkeypatch, ["ojs_tasks"], SERVER="https://ojs.example.org") == []


def test_an_app_without_which_django_loads_none_is_named_at_the_start(tmp_path: Path) -> None:
    host = Host(tmp_path).make(
        INSTALLED_APPS=without("django.contrib.contenttypes", APPS), DATABASES={"default": SQLITE}
    )

    assert (
        "(ojs.E032) the app 'jobs' needs the app 'django.contrib.contenttypes': add"
        in host.start("manage.py", "check").stderr
    )


# --- packages of the project with our names -------------------------------------------------------


def test_a_package_of_the_project_that_hides_ours_is_named(tmp_path: Path) -> None:
    host = Host(tmp_path).make(INSTALLED_APPS=APPS, DATABASES={"default": SQLITE})
    host.write("jobs/__init__.py", "")
    host.write("jobs/apps.py", OWN_APP)

    told = host.start("manage.py", "check").stderr

    assert f"(ojs.E030) the package 'jobs' is that of {tmp_path / 'jobs'}, which hides" in told
    assert "HINT: rename your package; or set OJS['SERVER']" in told


def test_a_package_without_our_configuration_is_named_at_the_start(tmp_path: Path) -> None:
    host = Host(tmp_path).make(INSTALLED_APPS=APPS, DATABASES={"default": SQLITE})
    host.write("jobs/__init__.py", "")

    assert "(ojs.E030) the package 'jobs'" in host.start("manage.py", "check").stderr


def test_a_project_with_a_server_elsewhere_may_have_packages_of_our_names(tmp_path: Path) -> None:
    host = Host(tmp_path).make(
        INSTALLED_APPS=["ojs_tasks", "jobs"], DATABASES={"default": SQLITE},
        OJS={"SERVER": "https://ojs.example.org"},
    )  # fmt: skip
    host.write("jobs/__init__.py", "")

    assert host.start("manage.py", "check").returncode == 0


@pytest.mark.parametrize(
    ("ojs", "problem"),
    [
        ({"SERVER": "jobs.example.org"}, "(ojs.E034) OJS['SERVER'] must be an address such as"),
        ({"SERVER": "http://far.example", "API_KEY": "k"}, "OJS['ALLOW_HTTP'] = True permits"),
        (
            {"SERVER": "https://far.example", "API_KYE": "k"},
            "(ojs.E001) OJS['API_KYE'] is not a setting\n\tHINT: did you mean 'API_KEY'?",
        ),
        ({"SERVR": "https://far.example"}, "HINT: did you mean 'SERVER'?"),
    ],
)
def test_a_wrong_setting_of_remote_mode_is_named(
    tmp_path: Path, ojs: dict[str, str], problem: str
) -> None:
    host = Host(tmp_path).make(INSTALLED_APPS=["ojs_tasks", "shop"], OJS=ojs)

    assert problem in host.start("manage.py", "check").stderr


# --- other packages -------------------------------------------------------------------------------


def test_the_checks_of_the_tasks_framework_run(tmp_path: Path) -> None:
    host = Host(tmp_path).make(
        INSTALLED_APPS=[*APPS, *(() if framework.IS_DJANGO_6 else ("django_tasks",))],
        DATABASES={"default": SQLITE},
        TASKS={"default": {"BACKEND": "ojs_tasks.backends.DatabaseBackend", "QUEUE": ["mail"]}},
    )

    told = host.start("manage.py", "check").stderr

    assert "(ojs_tasks.E106) TASKS['default'] has no key 'QUEUE'." in told
    assert "Did you mean 'QUEUES'?" in told


def test_the_console_needs_a_broker_for_its_tasks(settings: Any) -> None:
    assert check_cluster() == []
    settings.Q_CLUSTER = {"name": "shop", "timeout": 60, "retry": 120}

    (found,) = check_cluster()

    assert found.id == "ojs.E050"
    assert '"orm": "default"' in str(found.hint)


# --- the database ---------------------------------------------------------------------------------


def ids(found: Sequence[CheckMessage]) -> list[str | None]:
    """Return the ids of messages."""
    return [one.id for one in found]


@pytest.mark.parametrize(
    ("ojs", "problem"),
    [
        ({"DATABASE": "other"}, "ojs.E008: OJS['DATABASE'] is 'other': no such database"),
        (
            {"DIRECT_DATABASE": "past"},
            "ojs.E005: OJS['DIRECT_DATABASE'] is 'past': no such database",
        ),
        (
            {"REPLICA_DATABASE": "copy"},
            "ojs.E044: OJS['REPLICA_DATABASE'] is 'copy': no such database",
        ),
    ],
)
def test_an_unknown_alias_is_named(settings: Any, ojs: dict[str, str], problem: str) -> None:
    settings.OJS = ojs

    assert problem in [f"{one.id}: {one.msg}" for one in checks_database.check_aliases()]


def test_a_database_of_another_kind_is_refused_by_migrate(tmp_path: Path) -> None:
    host = Host(tmp_path).make(INSTALLED_APPS=APPS, DATABASES={"default": SQLITE})

    for arguments in (("check", "--database", "default"), ("migrate",)):
        told = host.start("manage.py", *arguments).stderr
        assert "(ojs.E040) the database 'default' is SQLite, and the jobs need PostgreSQL" in told
    assert host.start("manage.py", "check").returncode == 0


@pytest.mark.usefixtures("store")
def test_an_old_database_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert checks_database.check_database(["default"]) == []
    monkeypatch.setitem(connections["default"].__dict__, "pg_version", 140_012)

    (found,) = checks_database.check_database(["default"])

    assert (found.id, found.msg) == ("ojs.E041", "the database 'default' is PostgreSQL 14")
    assert ids(checks_database.check_database(["another"])) == []


def test_a_pooler_needs_a_connection_past_it(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "DISABLE_SERVER_SIDE_CURSORS", True)
    assert ids(checks_database.check_aliases()) == ["ojs.E042"]

    monkeypatch.setitem(settings.DATABASES, "direct", {})
    settings.OJS = {"DIRECT_DATABASE": "direct"}
    assert checks_database.check_aliases() == []


class Elsewhere:
    """Sends all to a replica."""

    def db_for_read(self, _model: object, **_hints: object) -> str:
        """Return the alias of the replica."""
        return "replica"


class Closed:
    """Lets no app migrate."""

    def allow_migrate(self, _db: str, _app_label: str, **_hints: object) -> bool:
        """Return False."""
        return False


@pytest.mark.parametrize("other", [Elsewhere, Closed])
def test_a_router_before_ours_that_leads_elsewhere_is_named(settings: Any, other: type) -> None:
    settings.DATABASE_ROUTERS = [Router(), other()]
    assert checks_database.check_aliases() == []

    settings.DATABASE_ROUTERS = [other(), Router()]
    assert set(ids(checks_database.check_aliases())) == {"ojs.E043"}
