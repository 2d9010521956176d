"""The pages of regions: health, actions, and jobs of all regions. Spec: contract 23.2."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from federation.models import Region, RegionHealth
from jobs.models import Audit
from tests.factories import stored
from tests.federation.stub import Stub
from tests.federation.wire import federate, place

pytestmark = pytest.mark.usefixtures("store")

Stubs = Callable[..., list[Stub]]


@pytest.fixture
def operator() -> Iterator[Client]:
    """Return a client of a superuser."""
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    yield client
    User.objects.all().delete()


def shown(client: Client, path: str) -> str:
    answer = client.get(f"/console/regions/{path}")
    assert answer.status_code == 200
    return answer.content.decode()


def act(client: Client, verb: str, region: str) -> int:
    body = {"id": region, "next": "/console/regions/"}
    return client.post(f"/console/actions/region-{verb}/", body).status_code


def test_page_shows_each_region_with_health_breaker_and_load(
    operator: Client, stubs: Stubs
) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap)
    ap.stop()
    for region in ("us", "eu", "ap"):
        act(operator, "probe", region)

    page = shown(operator, "")

    assert all(f">{region}" in page for region in ("ap", "eu", "us"))
    assert "unhealthy" in page
    assert "1 failed in a row" in page
    assert "no connection" in page


def test_page_of_a_server_without_a_federation_says_so(operator: Client) -> None:
    assert "belongs to no federation" in shown(operator, "")
    assert "No region is registered" in shown(operator, "jobs/?find=1")


def test_breaker_is_opened_and_closed_and_a_region_drained(operator: Client, stubs: Stubs) -> None:
    federate(*stubs("eu"))

    assert act(operator, "open", "eu") == 302
    assert RegionHealth.objects.get(region="eu").is_forced
    assert ">manual<" in shown(operator, "")
    act(operator, "close", "eu")
    assert RegionHealth.objects.get(region="eu").breaker == "closed"
    act(operator, "drain", "eu")
    assert Region.objects.get(id="eu").drain
    act(operator, "undrain", "eu")
    assert not Region.objects.get(id="eu").drain
    actions = set(Audit.objects.filter(actor="console:root").values_list("action", flat=True))
    assert {"federation.breaker_opened", "federation.region_drained"} <= actions


def test_who_may_only_look_changes_nothing(stubs: Stubs) -> None:
    federate(*stubs("eu"))
    user = User.objects.create_user("viewer")
    client = Client()
    client.force_login(user)
    assert client.get("/console/regions/").status_code == 403

    names = ("view_region", "view_job")
    user.user_permissions.add(*Permission.objects.filter(codename__in=names))
    page = shown(client, "")

    assert "Open breaker" not in page
    assert act(client, "open", "eu") == 403
    assert RegionHealth.objects.get(region="eu").breaker == "closed"
    user.delete()


def test_action_without_a_token_of_the_page_is_refused(operator: Client, stubs: Stubs) -> None:
    federate(*stubs("eu"))
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="root"))

    assert act(strict, "open", "eu") == 403


def test_jobs_of_all_regions_are_found_with_their_region(operator: Client, stubs: Stubs) -> None:
    eu, ap = stubs("eu", "ap")
    federate(eu, ap)
    (mine,) = stored(1, type="mail.send")
    theirs = place(region="eu")["job"]
    ap.stop()

    page = shown(operator, f"jobs/?find=1&id={theirs['id']}")
    assert theirs["id"] in page
    assert "Jobs of ap are missing: no connection" in page
    assert "us: 0 of 0" in page

    assert mine.id in shown(operator, f"jobs/?find=1&id={mine.id}")
    assert mine.id in shown(operator, "jobs/?find=1&type=mail.*&state=available&queue=")
    assert "is not a job id" in shown(operator, "jobs/?find=1&id=x")
    assert "The search then asks every region" in shown(operator, "jobs/")


@pytest.mark.parametrize(
    "answer",
    [[], {}, "x", {"jobs": 5}, {"jobs": [5, {"id": 5}, {"id": "1", "type": "t"}]},
     {"jobs": [], "total": "many"}],
)  # fmt: skip
def test_answer_that_is_none_shows_no_job(
    operator: Client, stubs: Stubs, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    eu.health = (200, answer)  # the search reads the health path here, so this is its answer
    monkeypatch.setattr(
        "federation.services.routing.search.JobSearch.path",
        property(lambda _self: "/ojs/v1/health"),
    )

    assert "eu: 0 of 0" in shown(operator, "jobs/?find=1")


def test_region_that_refuses_our_key_is_told(
    operator: Client, stubs: Stubs, monkeypatch: pytest.MonkeyPatch
) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    eu.health = (403, {})
    monkeypatch.setattr(
        "federation.services.routing.search.JobSearch.path",
        property(lambda _self: "/ojs/v1/health"),
    )

    assert "the key of this server may not read jobs there" in shown(operator, "jobs/?find=1")


def test_region_with_an_open_breaker_is_not_asked_for_jobs(operator: Client, stubs: Stubs) -> None:
    (eu,) = stubs("eu")
    federate(eu)
    act(operator, "open", "eu")

    assert "Jobs of eu are missing: circuit breaker open" in shown(operator, "jobs/?find=1")
    assert eu.requests == 0
