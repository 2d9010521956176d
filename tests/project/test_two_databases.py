"""A host project whose own data is in one database, and the jobs in another."""

from collections.abc import Iterator

import pytest
from pytest_django.plugin import DjangoDbBlocker

from tests.project import hosting
from tests.project.hosting import Host

URLS = """
from django.urls import include, path
urlpatterns = [path("", include("jobs.api.urls")), path("console/", include("console.urls"))]
"""
BESIDE_USERS = {"ojs_staff", "ojs_console_view"}  # their foreign keys lead to users
TABLES = """
import django; django.setup()
from django.db import connections
for alias in ("default", "ojs"):
    print(alias, *connections[alias].introspection.table_names())
"""
JOINS = """
import django; django.setup()
from django.db import transaction
from jobs.models import Job
from shop.ojs_jobs import send_mail

class Undone(Exception): ...

def enqueued(using):
    try:
        with transaction.atomic(using=using):
            job = send_mail.enqueue("ada@example.org", subject="News")
            raise Undone
    except Undone:
        return Job.objects.filter(id=job.id).exists()

print(enqueued("ojs"), enqueued("default"))
"""
ENQUEUE = """
import django; django.setup()
from shop.ojs_jobs import send_mail
print(send_mail.enqueue("ada@example.org", subject="News").id)
"""
SERVES = """
import sys, django; django.setup()
from django.contrib.auth.models import User
from django.test import Client

answer = Client().get(f"/ojs/v1/jobs/{sys.argv[1]}").json()["job"]
print(answer["state"], answer["result"])
made = Client().post(
    "/ojs/v1/jobs", {"type": "mail.send", "args": ["bob@example.org"]}, "application/json"
)
print(made.status_code, Client().get("/ojs/v1/health").status_code)
ada = User.objects.create_superuser("ada", password="for-this-test")
browser = Client()
browser.force_login(ada)
for path in ("/console/", f"/console/jobs/{sys.argv[1]}/", "/console/queues/"):
    print(path, browser.get(path).status_code)
"""
USERS = """
import django; django.setup()
from django.contrib.auth.models import Group, User
from console.models import SavedView
from jobs.domain.access.caller import Caller
from jobs.models import Audit, Staff
from jobs.services.access.staff import restrict, tenants_of
from django.http import QueryDict
from console.saved import read, save

bob = User.objects.create_user("bob", password="for-this-test")
bob.groups.add(Group.objects.get(name="ojs_viewer"))
restrict(bob, ["north"], Caller("manage.py"))
save(QueryDict("page=jobs&name=mine"), Caller("console:bob"))
print(bob.ojs_staff.tenants, [view.owner.username for view in read(bob, "jobs").views])
print(User.objects.get(pk=bob.pk).has_perm("ojs_jobs.view_job"))
print(sorted(Audit.objects.values_list("action", flat=True)))
bob.delete()
print(Staff.objects.count(), SavedView.objects.count())
"""
TESTS = """
from django.db import transaction
from django.test import TestCase
from jobs.models import Job
from jobs.testing import run_available
from shop.ojs_jobs import send_mail

class Mail(TestCase):
    databases = {"default", "ojs"}

    def test_a_mail_is_sent(self):
        send_mail.enqueue("ada@example.org")
        (run,) = run_available()
        assert run.result == {"to": "ada@example.org", "about": ""}, run
"""


@pytest.fixture(scope="module")
def host(
    django_db_setup: None,
    django_db_blocker: DjangoDbBlocker,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Host]:
    """Give a project whose two databases are migrated."""
    with django_db_blocker.unblock(), hosting.databases("data", "ojs") as made:
        host = Host(tmp_path_factory.mktemp("host")).make(
            URLS,
            DATABASES={"default": made["data"], "ojs": made["ojs"]},
            INSTALLED_APPS=[*hosting.ALL, "shop"],
            OJS={
                "DATABASE": "ojs",
                "AUTH": "off",
                "ALLOW_INSECURE": True,
                "EXTENSIONS": hosting.EXTENSIONS,
            },
        )
        early = host.start("manage.py", "migrate", "--database", "ojs").stderr
        assert "has no users yet, to whom roles are given: run migrate --database=default" in early
        shown = host.run("manage.py", "migrate")
        assert "in another database: run migrate --database=ojs, too" in shown
        host.run("manage.py", "migrate", "--database", "ojs", "--verbosity", "0")
        yield host


def tables(host: Host) -> dict[str, set[str]]:
    """Return the tables of each database by its alias."""
    lines = [line.split() for line in host.run("-c", TABLES).splitlines()]
    return {alias: set(names) for alias, *names in lines}


def test_our_tables_are_only_in_our_database_except_those_that_refer_to_users(host: Host) -> None:
    found = tables(host)
    ours = {name for name in found["ojs"] if name.startswith("ojs_")}

    assert {name for name in found["default"] if name.startswith("ojs_")} == BESIDE_USERS
    assert {"ojs_job", "ojs_audit", "ojs_console_operation"} <= ours
    assert not ours & BESIDE_USERS


def test_an_enqueue_joins_a_transaction_of_our_database_only(host: Host) -> None:
    assert host.run("-c", JOINS).split() == ["False", "True"]


def test_a_job_runs_and_the_api_and_the_console_show_it(host: Host) -> None:
    job_id = host.run("-c", ENQUEUE).strip()
    host.run("manage.py", "runworker", "--once")

    shown, served, *pages = host.run("-c", SERVES, job_id).splitlines()
    assert shown == "completed {'to': 'ada@example.org', 'about': 'News'}"
    assert served == "201 200"
    assert [page.split()[1] for page in pages] == ["200", "200", "200"]


def test_what_refers_to_a_user_is_deleted_with_the_user(host: Host) -> None:
    assert host.run("-c", USERS).splitlines() == [
        "['north'] ['bob']",
        "True",
        "['staff.restricted', 'view.saved']",
        "0 0",
    ]


@pytest.mark.long
def test_a_second_migrate_changes_nothing(host: Host) -> None:
    for alias in ("default", "ojs"):
        done = host.run("manage.py", "migrate", "--database", alias)
        assert "No migrations to apply" in done
    planned = host.run("manage.py", "makemigrations", "--check", "--dry-run")
    assert planned == "No changes detected\n"


@pytest.mark.long
def test_tests_of_the_host_run_jobs_in_both_databases(host: Host) -> None:
    host.write("shop/tests.py", TESTS)

    host.run("manage.py", "test", "shop", "--verbosity", "0")
