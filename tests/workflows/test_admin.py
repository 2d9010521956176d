"""Workflows in Django admin: read-only."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from tests.workflows.flows import chain, created, group, job

LIST = "admin:ojs_workflows_workflow_changelist"


@pytest.fixture
def admin(store: None) -> Iterator[Client]:
    """Return a client of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    yield client
    User.objects.all().delete()


def test_workflows_can_be_read_and_found_and_not_changed(admin: Client) -> None:
    flow = created(chain(group(job()), job()))

    listed = admin.get(reverse(LIST)).context["cl"].result_list
    found = admin.get(reverse(LIST), {"q": flow}).context["cl"].result_list

    assert len(listed) == 2
    assert [str(row.pk) for row in found] == [flow]
    page = reverse("admin:ojs_workflows_workflow_change", args=[flow])
    assert admin.get(page).status_code == 200
    assert admin.post(page, {}).status_code == 403
    assert admin.get(reverse("admin:ojs_workflows_workflow_add")).status_code == 403
