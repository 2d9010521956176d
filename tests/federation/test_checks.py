"""Settings that stop the start of the server. Spec: contract 23.2."""

from typing import Any

import pytest

from federation.checks import check_settings
from jobs.management.commands.runworker import _is_left
from tests.spec import spec

US: dict[str, Any] = {"id": "us", "url": "https://us.example.org"}
EU: dict[str, Any] = {"id": "eu", "url": "https://eu.example.org"}
BOTH = {"LOCAL_REGION": "us", "REGIONS": [US, EU]}


@pytest.mark.parametrize(
    ("chosen", "number"),
    [
        ({"COLOUR": "red"}, "E001"),
        ({"REFRESH_MS": -1}, "E002"),
        ({"REFRESH_MS": "1"}, "E002"),
        ({"REGIONS": [{"id": "us"}]}, "E003"),
        ({"REGIONS": [{**US, "url": "http://us.example.org", "allow_insecure": True}]}, "E003"),
        ({"REGIONS": [{**US, "auth": {"kind": "bearer", "token_ref": "a-secret"}}]}, "E003"),
        ({"LOCAL_REGION": "US"}, "E004"),
        ({**BOTH, "LOCAL_REGION": "ap"}, "E004"),
        ({**BOTH, "CONFIG": {"topology": "star"}}, "E004"),
        ({**BOTH, "CONFIG": {"regions": []}}, "E004"),
        ({**BOTH, "CONFIG": {"health_check": {"interval": 1}}}, "E004"),
    ],
)
def test_wrong_setting_is_reported(settings: Any, chosen: dict[str, Any], number: str) -> None:
    settings.OJS_FEDERATION = chosen

    found = check_settings()

    assert [one.id for one in found] == [f"ojs_federation.{number}"]
    assert "a-secret" not in str(found)


@pytest.mark.parametrize(("hubs", "problems"), [([], 1), (["us"], 0), (["us", "eu"], 1)])
@spec("FED-2.1-a")
def test_hub_spoke_of_the_settings_has_exactly_one_hub(
    settings: Any, hubs: list[str], problems: int
) -> None:
    regions = [{**one, "is_hub": one["id"] in hubs} for one in (US, EU)]
    settings.OJS_FEDERATION = {
        "LOCAL_REGION": "us", "REGIONS": regions, "CONFIG": {"topology": "hub-spoke"},
    }  # fmt: skip

    assert len(check_settings()) == problems


def test_settings_without_a_federation_are_right(settings: Any) -> None:
    settings.OJS_FEDERATION = {}
    assert check_settings() == []

    settings.OJS_FEDERATION = {"REGIONS": [US, EU]}
    assert check_settings() == [], "operators say which one this is"


def test_worker_leaves_the_loops_of_federation_where_it_is_told_to() -> None:
    names = ("federation_probe", "federation_load", "promote")

    assert [_is_left(one, {"no_federation": True}) for one in names] == [True, True, False]
    assert not any(_is_left(one, {"no_federation": False}) for one in names)
