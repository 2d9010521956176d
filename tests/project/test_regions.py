"""Settings of a demonstration with several regions on one machine."""

import json

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from federation.domain.reading import read_config
from ojs_project.regions import CONFIG, region_environment

URLS = {"us": "http://127.0.0.1:8000", "eu": "https://eu.example"}


def test_a_region_knows_itself_and_the_others() -> None:
    found = region_environment("us", URLS)

    assert found["OJS_FEDERATION_LOCAL_REGION"] == "us"
    regions = json.loads(found["OJS_FEDERATION_REGIONS"])
    config = read_config({**CONFIG, "local_region": "us", "regions": regions})
    assert [(one.id, one.url, one.allow_insecure) for one in config.regions] == [
        ("us", "http://127.0.0.1:8000", True), ("eu", "https://eu.example", False),
    ]  # fmt: skip
    assert json.loads(found["OJS_FEDERATION_CONFIG"]) == CONFIG


def test_the_demonstration_needs_databases_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql:///elsewhere")

    with pytest.raises(CommandError, match="each region has its own database"):
        call_command("demofederation")
