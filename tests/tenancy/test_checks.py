"""Settings that prevent the start."""

from typing import Any

import pytest

from tenancy.checks import check_settings

BLUE = {"tenant_id": "blue"}


@pytest.mark.parametrize(
    ("chosen", "number"),
    [
        ({"ISOLATE": True}, "E001"),
        ({"MISSING": "ask"}, "E002"),
        ({"UNKNOWN": "ask"}, "E002"),
        ({"ISOLATION": "none"}, "E002"),
        ({"UNSCOPED": "none"}, "E002"),
        ({"TENANTS": ({"tenant_id": "_default", "isolation": "namespace"},)}, "E008"),
        ({"SOURCES": ("header", "meta")}, "E003"),
        ({"SOURCES": ("key", "cookie")}, "E003"),
        ({"DEFAULT": "_other"}, "E004"),
        ({"DEFAULT": "a b"}, "E004"),
        ({"FULL_RETRY_S": 0}, "E005"),
        ({"THROTTLE_MS": 0}, "E005"),
        ({"NOISE_INTERVAL_MS": "15"}, "E005"),
        ({"AUTO_THROTTLE": "on"}, "E002"),
        ({"THROTTLE_FACTOR": 1}, "E008"),
        ({"THROTTLE_FACTOR": float("nan")}, "E008"),
        ({"NOISE_DEPTH_RATIO": -1}, "E009"),
        ({"NOISE_MIN_ACTIVE": True}, "E009"),
        ({"METRICS_MAX": 0}, "E010"),
        ({"METRICS_MAX": 10_001}, "E010"),
        ({"TENANTS": ({"tenant_id": "-"},)}, "E006"),
        ({"TENANTS": ({"name": "Blue"},)}, "E006"),
        ({"TENANTS": ({**BLUE, "limits": {"max_jobs": 1}},)}, "E006"),
        ({"TENANTS": (BLUE, BLUE)}, "E007"),
    ],
)
def test_wrong_setting_is_reported(settings: Any, chosen: dict[str, Any], number: str) -> None:
    settings.OJS_TENANCY = {**settings.OJS_TENANCY, **chosen}

    assert [found.id for found in check_settings()] == [f"ojs_tenancy.{number}"]


def test_settings_of_the_tests_are_right(settings: Any) -> None:
    settings.OJS_TENANCY = {**settings.OJS_TENANCY, "DEFAULT": "_house", "TENANTS": (BLUE,)}

    assert check_settings() == []
