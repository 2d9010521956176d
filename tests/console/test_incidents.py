"""An operator gets from the overview to the mended state of each incident in a few clicks."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from attention.models import Finding
from attention.services import look as looks
from attention.services.look import look
from jobs.domain.access.caller import SYSTEM
from jobs.queries import tick
from jobs.services.operate import maintenance
from tests.console.conftest import WAIT_MS
from tests.console.incidents import INCIDENTS
from tests.console.operator import Operator

expect.set_options(timeout=WAIT_MS)

CLICKS = 4


@pytest.fixture(autouse=True)
def _ended(store: None) -> Iterator[None]:
    """Begin and end without findings and without maintenance."""
    Finding.objects.all().delete()
    yield
    maintenance.end(SYSTEM)
    Finding.objects.all().delete()


def test_there_are_twenty_incidents() -> None:
    assert len(INCIDENTS) == 20


@pytest.mark.parametrize("name", INCIDENTS)
def test_an_incident_is_mended_from_the_overview(page: Page, name: str) -> None:
    incident = INCIDENTS[name]
    tick("promote")
    incident.happens()
    look()
    operator = Operator(page, incident.text)
    expect(operator.finding()).to_have_count(1)

    incident.mend(operator)

    assert incident.is_mended()
    assert operator.clicks <= CLICKS
    if incident.ends:
        looks._last.clear()  # also the rules that are evaluated less often
        look()
        page.goto("/console/")
        expect(page.locator(".finding").filter(has_text=incident.text)).to_have_count(0)
