"""The cluster of operator tasks runs the functions of its table, and no other function."""

import os
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission, User
from django.db import connection
from django.test import Client
from django.utils import timezone
from django_q.brokers import get_broker
from django_q.models import OrmQ, Schedule, Task
from django_q.scheduler import scheduler
from django_q.signing import SignedPackage
from django_q.tasks import async_task

from console.cluster import TEND, TaskRefused, Tasks
from console.roles import Role
from jobs.models import Audit
from jobs.permits import table

pytestmark = pytest.mark.usefixtures("store")
KNOWN = "console.operations.go_on"
MODELS = list(apps.get_app_config("django_q").get_models())


@pytest.fixture(autouse=True)
def broker(store: None) -> Iterator[Tasks]:
    """Return the queue that the cluster reads; its own upkeep is turned off."""
    found = get_broker()
    assert isinstance(found, Tasks)
    found.tend_at = float("inf")
    yield found
    for model in (OrmQ, Schedule, Task):
        model.objects.all().delete()
    User.objects.all().delete()


def row(**members: Any) -> OrmQ:
    """Write a signed task into the table of the queue, around all checks."""
    task = {"id": "1", "name": "x", "func": KNOWN, "args": (), "kwargs": {},
            "started": timezone.now(), **members}  # fmt: skip
    return OrmQ.objects.create(
        key="ojs", payload=SignedPackage.dumps(task), lock=timezone.now() - timedelta(seconds=9)
    )


@pytest.mark.parametrize("function", ["os.system", "console.operations.get", "", os.getcwd, None])
def test_a_function_that_the_table_lacks_is_not_queued(function: Any) -> None:
    with pytest.raises(TaskRefused):
        async_task(function, "true")

    assert not OrmQ.objects.exists()


@pytest.mark.parametrize(
    "members",
    [
        {"func": "os.system"}, {"func": os.getcwd}, {"func": None}, {"hook": "os.system"},
        {"chain": [("os.system", ("true",))]}, {"sync": True}, {"cached": True}, {"iter_count": 1},
    ],
)  # fmt: skip
def test_a_row_that_was_written_past_the_checks_is_removed_and_recorded(
    broker: Tasks, members: dict[str, Any]
) -> None:
    row(**members)

    assert broker.dequeue() == []

    assert not OrmQ.objects.exists()
    assert Audit.objects.get().action == "operator_task.refused"


def test_a_row_without_a_signature_is_removed(broker: Tasks) -> None:
    OrmQ.objects.create(key="ojs", payload="x", lock=timezone.now() - timedelta(seconds=9))

    assert broker.dequeue() == []
    assert not OrmQ.objects.exists()


@pytest.mark.parametrize("function", sorted(table().tasks))
def test_a_function_of_the_table_is_handed_out(broker: Tasks, function: str) -> None:
    async_task(function, 1, group="g", save=False, timeout=3)
    OrmQ.objects.update(lock=timezone.now() - timedelta(seconds=9))

    ((_, task),) = broker.dequeue()
    assert SignedPackage.loads(task)["func"] == function


def test_the_cluster_tends_operations_by_itself(broker: Tasks) -> None:
    broker.tend_at = 0
    broker.dequeue()
    broker.dequeue()

    assert [one.task["func"] for one in OrmQ.objects.all()] == [TEND]


@pytest.mark.parametrize("options", ["{}", "{'q_options': {'hook': 'os.system'}}"])
def test_a_schedule_queues_no_other_function(options: str) -> None:
    """The cluster ignores schedules; if it read them, its queue would still refuse them."""
    function = "os.system" if options == "{}" else KNOWN
    Schedule.objects.create(func=function, args="'true'", kwargs=options, next_run=timezone.now())

    scheduler(broker=get_broker())

    assert [one for one in OrmQ.objects.all() if get_broker().dequeue()] == []


def test_schedules_are_switched_off(settings: Any) -> None:
    assert settings.Q_CLUSTER["scheduler"] is False


def test_tables_of_the_cluster_are_not_in_the_admin() -> None:
    client = Client()
    client.force_login(User.objects.create_superuser("root"))

    assert MODELS
    assert not any(admin.site.is_registered(model) for model in MODELS)
    assert client.get("/admin/django_q/schedule/add/").status_code == 404
    assert client.get("/admin/django_q/").status_code == 404


def test_no_role_has_a_permission_on_the_tables_of_the_cluster() -> None:
    for role in Role:
        held = Group.objects.get(name=role.group).permissions
        assert not held.filter(content_type__app_label="django_q").exists()


def test_the_migration_takes_permissions_back_and_leaves_others() -> None:
    from importlib import import_module  # noqa: PLC0415 - its name begins with a digit

    close = import_module("console.migrations.0003_close_operator_tasks").close
    group, user = Group.objects.create(name="own"), User.objects.create_user("ada")
    for held in (group.permissions, user.user_permissions):
        held.set(Permission.objects.filter(codename__in=["add_schedule", "view_job"]))
    Schedule.objects.create(name="console operations", func=TEND)

    with connection.schema_editor() as editor:
        close(apps, editor)

    assert [one.codename for one in group.permissions.all()] == ["view_job"]
    assert [one.codename for one in user.user_permissions.all()] == ["view_job"]
    assert not Schedule.objects.exists()
    group.delete()
