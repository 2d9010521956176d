"""Tenants defined in the settings. Spec: MT 15.1."""

from typing import Any

import pytest

from jobs.models import Lane
from jobs.services.lanes import lanes
from tenancy.extension import Tenancy
from tenancy.models import Tenant
from tenancy.services.tenants import apply_settings
from tests.spec import spec
from tests.tenancy.wire import answer, push, put, send

pytestmark = pytest.mark.usefixtures("store")

BLUE: dict[str, Any] = {"tenant_id": "blue", "limits": {"max_queue_depth": 1}, "fairness_weight": 2}


def configure(settings: Any, *tenants: dict[str, Any]) -> None:
    """Change the settings and apply them, as `runworker` does at its start."""
    settings.OJS_TENANCY = {**settings.OJS_TENANCY, "TENANTS": tenants}
    lanes.clear_cache()
    apply_settings()


@spec("MT-15.1-a")
def test_tenants_of_the_settings_are_there_and_count(settings: Any) -> None:
    push("blue")
    configure(settings, BLUE)

    shown = answer(send("GET", "admin/tenants/blue"))

    assert (shown["source"], shown["fairness_weight"]) == ("static", 2)
    push("blue", status=429)
    assert "tenants" in {loop.name for loop in Tenancy().loops()}


@spec("MT-15.1-a")
def test_boost_of_the_settings_counts_for_what_waits(settings: Any) -> None:
    push("blue")
    configure(settings, {"tenant_id": "blue", "priority_boost": 4})

    assert answer(send("GET", "admin/tenants/blue"))["priority_boost"] == 4
    assert Lane.objects.get().rank == -4


@spec("MT-9.3-a")
def test_what_operators_change_stays_until_the_settings_change(settings: Any) -> None:
    configure(settings, BLUE)
    answer(send("PUT", "admin/tenants/blue/limits", {"max_queue_depth": 7}))

    assert apply_settings() == 0
    assert Tenant.objects.get().max_queue_depth == 7
    configure(settings, {**BLUE, "limits": {"max_queue_depth": 3}})
    assert Tenant.objects.get().max_queue_depth == 3
    put("blue", status=200)
    assert Tenant.objects.get().source == "static"


@spec("MT-15.1-a")
def test_without_any_there_is_nothing_to_do() -> None:
    assert "tenants" not in {loop.name for loop in Tenancy().loops()}
    assert apply_settings() == 0
