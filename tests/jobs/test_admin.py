"""Django admin: read-only pages, and keys to create and revoke."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from jobs.admin import MANY
from jobs.domain.access.keys import GROUPS
from jobs.domain.states import State
from jobs.domain.wire.ids import new_id
from jobs.models import ApiKey, Lease, Queue
from jobs.services.access.api_keys import NewKey, create
from jobs.services.workers.heartbeat import Report, heartbeat
from tests.factories import JobFactory, stored

READ_ONLY = ("job", "queue", "lane", "ready", "lease", "later", "worker", "looptick")


@pytest.fixture
def admin(store: None) -> Iterator[Client]:
    """Return a client of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    yield client
    User.objects.all().delete()
    ApiKey.objects.all().delete()


def page(name: str, verb: str, *args: object) -> str:
    """Return the URL of an admin page."""
    return reverse(f"admin:ojs_jobs_{name}_{verb}", args=args)


def test_every_list_and_row_can_be_read(admin: Client) -> None:
    for state in State:
        JobFactory.create(state=state, queue=state.value)
    heartbeat(Report("worker"))
    for name in READ_ONLY:
        answer = admin.get(page(name, "changelist"))
        assert answer.status_code == 200
        for row in answer.context["cl"].result_list:
            assert admin.get(page(name, "change", row.pk)).status_code == 200


@pytest.mark.parametrize("name", READ_ONLY)
def test_nothing_can_be_added_changed_or_deleted(admin: Client, name: str) -> None:
    JobFactory.create(state=State.ACTIVE)
    assert admin.get(page(name, "add")).status_code == 403
    for row in admin.get(page(name, "changelist")).context["cl"].result_list:
        assert admin.post(page(name, "change", row.pk), {}).status_code == 403
        assert admin.post(page(name, "delete", row.pk), {"post": "yes"}).status_code == 403
    assert Lease.objects.count() == 1


def test_lists_count_up_to_a_limit(admin: Client) -> None:
    stored(3)
    with CaptureQueriesContext(connection) as captured:
        admin.get(page("job", "changelist"))
    counts = [query["sql"] for query in captured if "COUNT(*)" in query["sql"]]
    assert counts
    assert all(f"LIMIT {MANY}" in sql for sql in counts if "ojs_job" in sql)


@pytest.mark.parametrize("text", ["nonsense", "%", "x" * 500, "'; --"])
def test_jobs_are_searched_by_id_alone(admin: Client, text: str) -> None:
    job = stored(2)[0]
    address = page("job", "changelist")
    found = admin.get(address, {"q": job.id}).context["cl"].result_list
    assert [str(row.id) for row in found] == [job.id]
    assert not admin.get(address, {"q": new_id()}).context["cl"].result_list
    assert not admin.get(address, {"q": text}).context["cl"].result_list


def made(admin: Client, **form: Any) -> str:
    """Make a key and return its text, which is shown once."""
    answer = admin.post(page("apikey", "add"), {"name": "ci", "scopes": ["producer"], **form})
    assert answer.status_code == 200
    found = re.search(r"ojs_[\w-]+_[\w-]{43}", answer.content.decode())
    assert found, answer.context.get("errors")
    assert found[0] not in str(answer.cookies)
    assert found[0] not in str(dict(admin.session))
    return found[0]


def test_a_key_is_made_and_its_text_shown_once(admin: Client) -> None:
    text = made(admin, tenant="acme", queues_enqueue="mail, mail-*", job_types="")
    key = ApiKey.objects.get()
    assert key.tenant == "acme"
    assert key.queues_enqueue == ["mail", "mail-*"]
    assert key.job_types == []
    assert set(key.scopes) == GROUPS["producer"]
    assert key.created_by == "admin:root"
    for address in (page("apikey", "changelist"), page("apikey", "change", key.pk)):
        shown = admin.get(address).content.decode()
        assert key.prefix in shown
        assert text.split("_", 2)[2] not in shown


def test_a_key_needs_a_name_and_known_scopes(admin: Client) -> None:
    for form in ({"name": "", "scopes": ["producer"]}, {"name": "x"},
                 {"name": "x", "scopes": ["nonsense"]}):  # fmt: skip
        answer = admin.post(page("apikey", "add"), form)
        assert answer.status_code == 200
        assert answer.context["errors"]
    assert not ApiKey.objects.exists()


def test_keys_are_revoked_and_kept(admin: Client) -> None:
    key, _ = create(NewKey("ci", ("producer",)))
    admin.post(page("apikey", "changelist"), {"action": "revoke", "_selected_action": [key.pk]})
    key.refresh_from_db()
    assert key.revoked_at is not None
    assert admin.post(page("apikey", "delete", key.pk), {"post": "yes"}).status_code == 403
    assert admin.post(page("apikey", "change", key.pk), {"name": "other"}).status_code == 403


def test_pages_of_the_admin_check_csrf_tokens(admin: Client) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get())
    answer = strict.post(page("apikey", "add"), {"name": "ci", "scopes": ["admin"]})
    assert answer.status_code == 403
    assert not ApiKey.objects.exists()
    assert not Queue.objects.exists()
