"""Tenants in Django admin: validated like the API, and changed by the same services."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.urls import reverse

from jobs.models import Audit
from tenancy.domain.tenant import Definition, Source, Standing, TenantLimits
from tenancy.models import Tenant
from tenancy.services import tenants
from tests.factories import stored


@pytest.fixture
def admin(store: None) -> Iterator[Client]:
    """Return a client of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    yield client
    User.objects.all().delete()


def page(verb: str, *args: object) -> str:
    """Return the URL of an admin page of tenants."""
    return reverse(f"admin:ojs_tenancy_tenant_{verb}", args=args)


def form(**fields: str) -> dict[str, str]:
    """Return the data of a filled form."""
    return {"quota_mode": "hard", "reason": "ticket 7", **fields}


def test_tenants_are_listed_filtered_and_searched(admin: Client) -> None:
    tenants.put("blue", Definition(name="Blue Ltd", limits=TenantLimits(max_concurrency=8)))
    tenants.put("red", Definition(standing=Standing.SUSPENDED))

    def found(**query: str) -> list[str]:
        return [row.id for row in admin.get(page("changelist"), query).context["cl"].result_list]

    assert found() == ["blue", "red"]
    assert found(q="Ltd") == ["blue"]
    assert found(state__exact="suspended") == ["red"]
    assert admin.get(page("change", "blue")).status_code == 200


def test_tenant_is_made_and_changed_by_the_service(admin: Client) -> None:
    made = admin.post(
        page("add"), form(tenant_id="blue", max_enqueue_rate="5", fairness_weight="2")
    )
    assert made.status_code == 302, made.context["errors"]
    row = tenants.find("blue")
    assert (row.enqueue_limit, row.enqueue_period_ms, row.fairness_weight) == (5, 60_000, 2.0)
    assert row.source == Source.DYNAMIC

    changed = admin.post(page("change", "blue"), form(name="Blue", max_concurrency="3"))

    assert changed.status_code == 302
    row = tenants.find("blue")
    assert (row.name, row.max_concurrency, row.enqueue_limit) == ("Blue", 3, None)
    assert [(one.actor, one.action, one.reason) for one in Audit.objects.all()] == [
        ("admin:root", "tenant.configured", "ticket 7")
    ] * 2


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"tenant_id": "no spaces"}, "tenant_id"),
        ({"reason": ""}, "reason"),
        ({"max_enqueue_rate": "5", "max_enqueue_period": "soon"}, "max_enqueue_period"),
        ({"max_enqueue_period": "PT1M"}, "max_enqueue_rate"),
        ({"fairness_weight": "0"}, "fairness_weight"),
    ],
)
def test_form_refuses_what_the_api_refuses(
    admin: Client, fields: dict[str, str], field: str
) -> None:
    answer = admin.post(page("add"), form(**{"tenant_id": "blue", **fields}))

    assert answer.status_code == 200
    assert list(answer.context["adminform"].form.errors) == [field]
    assert not Tenant.objects.exists()


def test_tenants_are_suspended_and_resumed(admin: Client) -> None:
    for name in ("blue", "red"):
        tenants.put(name, Definition())
    for action, standing in (("suspend", Standing.SUSPENDED), ("resume", Standing.ACTIVE)):
        body = {"action": action, "_selected_action": ["blue", "red"]}
        assert admin.post(page("changelist"), body).status_code == 302
        assert {row.state for row in Tenant.objects.all()} == {standing}


def test_tenant_without_jobs_is_deleted_and_no_other(admin: Client) -> None:
    tenants.put("blue", Definition())
    stored(1, meta={"tenant_id": "blue"}, tenant="blue")
    tenants.put("red", Definition())

    kept = admin.get(page("delete", "blue")).content.decode()
    assert "has 1 jobs that have not ended" in kept
    admin.post(page("delete", "blue"), {"post": "yes"})
    admin.post(page("delete", "red"), {"post": "yes"})

    assert [row.id for row in Tenant.objects.all()] == ["blue"]
    assert Audit.objects.get(action="tenant.deleted").actor == "admin:root"


def test_who_may_only_look_changes_nothing(store: None) -> None:
    tenants.put("blue", Definition())
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_tenant"))
    client = Client()
    client.force_login(user)

    assert client.get(page("change", "blue")).status_code == 200
    assert client.post(page("change", "blue"), form(name="x")).status_code == 403
    assert client.post(page("add"), form(tenant_id="red")).status_code == 403
    assert client.post(page("delete", "blue"), {"post": "yes"}).status_code == 403
    User.objects.all().delete()
