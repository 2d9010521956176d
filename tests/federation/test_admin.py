"""Regions in Django admin: validated as by the API, and changed by services."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from federation.domain.region import Secret
from federation.models import Region, RegionHealth
from federation.services.registry.configure import apply_settings
from federation.services.registry.registry import region_of
from jobs.models import Audit
from tests.federation.stub import Stub
from tests.federation.wire import federate

TOKEN = "a-token-of-eu"  # noqa: S105 - of a test


@pytest.fixture
def admin(store: None) -> Iterator[Client]:
    """Return a client of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    yield client
    User.objects.all().delete()


def page(verb: str, *args: object) -> str:
    """Return the path of a page of regions."""
    return reverse(f"admin:ojs_federation_region_{verb}", args=args)


def form(**fields: str) -> dict[str, str]:
    """Return a filled form."""
    return {"url": "https://eu.example.org", "weight": "1", "auth_kind": "none", "enabled": "on",
            **fields}  # fmt: skip


def act(admin: Client, action: str, *regions: str) -> None:
    body = {"action": action, "_selected_action": list(regions)}
    assert admin.post(page("changelist"), body).status_code == 302


def test_region_is_registered_and_changed_by_the_service(admin: Client) -> None:
    made = admin.post(page("add"), form(region_id="eu", tags="gdpr, fast"))
    assert made.status_code == 302, made.context["errors"]
    assert Region.objects.get().tags == ["gdpr", "fast"]
    assert RegionHealth.objects.get().status == "unknown"

    sent = form(auth_kind="bearer", token=TOKEN, weight="4")
    assert admin.post(page("change", "eu"), sent).status_code == 302
    assert Region.objects.get().weight == 4
    assert admin.post(page("change", "eu"), form(auth_kind="bearer")).status_code == 302

    row = Region.objects.get()
    assert region_of(row).auth.token == Secret(TOKEN)
    assert TOKEN.encode() not in bytes(row.sealed_token or b"")
    assert TOKEN not in admin.get(page("change", "eu")).content.decode()
    assert Audit.objects.filter(action="federation.region_configured").count() == 3


def test_token_does_not_follow_a_region_to_another_server(admin: Client) -> None:
    sent = form(region_id="eu", auth_kind="bearer", token=TOKEN)
    assert admin.post(page("add"), sent).status_code == 302

    moved = form(url="https://thief.example.org", auth_kind="bearer")
    answer = admin.post(page("change", "eu"), moved)

    assert "token" in answer.context["adminform"].form.errors
    assert Region.objects.get().url == "https://eu.example.org"


def test_region_of_the_settings_has_no_fields_for_its_url_and_its_token(
    admin: Client, settings: Any
) -> None:
    auth = {"kind": "bearer", "token_ref": "env:EU_TOKEN"}
    eu = {"id": "eu", "url": "https://eu.example.org", "auth": auth}
    settings.OJS_FEDERATION = {"REGIONS": [eu]}
    apply_settings()

    shown = admin.get(page("change", "eu"))
    sent = form(url="https://thief.example.org", weight="7", token=TOKEN, auth_kind="none")
    assert admin.post(page("change", "eu"), sent).status_code == 302

    assert {"url", "token", "auth_kind"}.isdisjoint(shown.context["adminform"].form.fields)
    assert "EU_TOKEN" not in shown.content.decode()
    row = Region.objects.get()
    assert (row.weight, row.url, row.sealed_token) == (7, "https://eu.example.org", None)


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"url": "http://eu.example.org"}, "url"),
        ({"url": "http://eu.example.org", "allow_insecure": "on"}, "url"),
        ({"region_id": "EU"}, "region_id"),
        ({"auth_kind": "bearer"}, "token"),
        ({"auth_kind": "bearer", "token": "two words"}, "token"),
        ({"auth_kind": "mtls"}, "auth_kind"),
    ],
)
def test_region_that_breaks_a_rule_is_refused_at_its_field(
    admin: Client, fields: dict[str, str], field: str
) -> None:
    answer = admin.post(page("add"), form(**{"region_id": "eu", **fields}))

    assert answer.status_code == 200
    assert field in answer.context["adminform"].form.errors
    assert Region.objects.count() == 0


def test_chosen_regions_are_probed_opened_closed_and_drained(
    admin: Client, stubs: Callable[..., list[Stub]]
) -> None:
    federate(*stubs("eu"))

    act(admin, "probe", "eu")
    assert RegionHealth.objects.get(region="eu").status == "healthy"
    act(admin, "open_breakers", "eu")
    assert RegionHealth.objects.get(region="eu").is_forced
    act(admin, "close_breakers", "eu")
    assert RegionHealth.objects.get(region="eu").breaker == "closed"
    act(admin, "drain", "eu")
    assert Region.objects.get(id="eu").drain
    act(admin, "undrain", "eu")
    assert not Region.objects.get(id="eu").drain
    assert admin.get(page("changelist")).status_code == 200


def test_local_region_is_kept_and_others_are_deleted(
    admin: Client, stubs: Callable[..., list[Stub]]
) -> None:
    federate(*stubs("eu"))

    admin.post(page("delete", "us"), {"post": "yes"})
    admin.post(page("delete", "eu"), {"post": "yes"})

    assert [row.id for row in Region.objects.all()] == ["us"]
