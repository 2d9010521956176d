"""Schedules in Django admin."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from scheduling.models import CronEntry
from scheduling.services.cron_fire import fire
from tests.scheduling.conftest import make_due, registered


@pytest.fixture
def admin(store: None) -> Iterator[Client]:
    """Return a client of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    yield client
    User.objects.all().delete()


@pytest.mark.parametrize("name", ["cronentry", "cronturn"])
def test_schedules_can_be_read_and_not_changed(admin: Client, name: str) -> None:
    registered(overlap_policy="enqueue")
    make_due()
    fire()

    answer = admin.get(reverse(f"admin:ojs_scheduling_{name}_changelist"))

    assert answer.status_code == 200
    (row,) = answer.context["cl"].result_list
    page = reverse(f"admin:ojs_scheduling_{name}_change", args=[row.pk])
    assert admin.get(page).status_code == 200
    assert admin.post(page, {}).status_code == 403
    assert admin.get(reverse(f"admin:ojs_scheduling_{name}_add")).status_code == 403
    assert CronEntry.objects.count() == 1
