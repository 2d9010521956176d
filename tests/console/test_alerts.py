"""The console links findings, objectives and rules to the runbooks of the alerts."""

from typing import Any

import pytest
import yaml
from django.test import Client
from django.urls import reverse

from attention.domain.rule import Severity
from attention.rules import RULES
from console import alerts
from console.checks import check_links
from tests.conftest import ROOT

MANUAL = "https://manual.example.org/ojs/"


def test_the_console_knows_every_alert_and_only_rules_that_exist() -> None:
    text = (ROOT / "deploy" / "prometheus" / "alerts.yml").read_text()
    found = [rule for group in yaml.safe_load(text)["groups"] for rule in group["rules"]]

    assert [rule["alert"] for rule in found] == list(alerts.NAMES)
    assert all(rule["annotations"]["runbook"].startswith(f"{alerts.PAGE}#") for rule in found)
    assert alerts.OF_RULE.keys() <= {rule.id for rule in RULES}
    assert {name for names in alerts.OF_RULE.values() for name in names} <= {*alerts.NAMES}


def test_a_finding_names_its_alerts_and_links_to_their_runbooks(settings: Any) -> None:
    settings.OJS_CONSOLE = {"MANUAL_URL": MANUAL}

    found = alerts.of_finding("queue_objective", Severity.CRITICAL)

    assert [(one.name, one.url) for one in found] == [
        (name, f"{MANUAL}deploy/monitoring.html#{name.lower()}")
        for name in ("OJSBudgetBurnsFast", "OJSBudgetBurnsSlowly", "OJSFindingCritical")
    ]
    assert alerts.of_finding("pool_full", Severity.NOTICE) == []


def test_the_page_of_rules_links_to_every_runbook(console: Client, settings: Any) -> None:
    address = reverse("ojs_console:attention_rules")
    without = console.get(address).content.decode()
    settings.OJS_CONSOLE = {"MANUAL_URL": MANUAL}
    page = console.get(address).content.decode()

    assert "OJS_CONSOLE_MANUAL_URL" in without
    for name in alerts.NAMES:
        assert name in without
        assert f'href="{MANUAL}deploy/monitoring.html#{name.lower()}"' in page
    assert "OJS_CONSOLE_MANUAL_URL" not in page


@pytest.mark.parametrize("address", ["javascript:alert(1)", "/manual/", "https://a.example/{x}"])
def test_an_address_that_makes_no_links_is_reported_and_unused(settings: Any, address: str) -> None:
    settings.OJS_CONSOLE = {"MANUAL_URL": address}

    assert {one.url for one in alerts.every()} == {""}
    (problem,) = check_links()
    assert problem.id == "ojs.E051"
