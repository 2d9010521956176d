"""A key that is bound to a region acts only for this region. Spec: contract 23.7, 31."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.test import Client

from federation.api.base import FederationView
from federation.api.urls import urlpatterns
from jobs.domain.access.keys import SCOPES
from jobs.domain.wire.ids import new_id
from tests.federation.replication.rig import encoded, replica
from tests.federation.stub import Stub
from tests.federation.wire import federate

pytestmark = pytest.mark.usefixtures("store")

BOUND, OTHER = "eu", "ap"
ONE = f"admin/federation/regions/{OTHER}"
CLAIM = {
    "federation_id": new_id(), "tenant_id": "_default", "job_id": new_id(), "started": False,
    "enqueued_at": "2026-05-04T12:00:00.000Z",
}  # fmt: skip
# by the name of the route: requests that name another region than the key's
NAMING: dict[str, list[tuple[str, str, Any]]] = {
    "ojs-federation-replicate": [
        ("POST", "federation/replicate", {"jobs": [encoded(replica(origin_region=OTHER))]})
    ],
    "ojs-federation-give-up": [
        ("POST", "federation/give-up", {"region": OTHER, "jobs": [CLAIM]})
    ],
    "ojs-regions": [
        ("POST", "admin/federation/regions", {"id": OTHER, "url": "https://ap.example.org"})
    ],
    "ojs-region": [
        ("PUT", ONE, {"url": "https://ap.example.org"}),
        ("PATCH", ONE, {"weight": 0}), ("DELETE", ONE, None),
    ],
    "ojs-region-probe": [("POST", f"{ONE}/probe", {})],
    "ojs-region-breaker": [("POST", f"{ONE}/breaker", {"state": "open"})],
    "ojs-region-drain": [("POST", f"{ONE}/drain", {})],
    "ojs-region-undrain": [("POST", f"{ONE}/undrain", {})],
    "ojs-region-adopt": [("POST", f"{ONE}/adopt", {"force": True})],
    "ojs-region-forget": [("POST", f"{ONE}/forget", {})],
}  # fmt: skip
# routes without a region, or with the target of a job, which may be any region: peers pass jobs on
NAMELESS = {
    "ojs-federation-regions", "ojs-federation-route", "ojs-federation-health",
    "ojs-federation-jobs", "ojs-federation-jobs-batch", "ojs-federation-job",
    "ojs-federation-backends", "ojs-federation-stats", "ojs-federation-replication",
    "ojs-federation-config",
}  # fmt: skip


def test_each_route_says_whether_it_names_a_region() -> None:
    known = {one.name: one for one in urlpatterns}

    assert set(known) == set(NAMING) | NAMELESS, "add the route to one of the two"
    views = [one.callback.view_class for one in known.values()]  # type: ignore[attr-defined]
    assert all(issubclass(view, FederationView) for view in views)
    assert all("region_id" not in str(known[name].pattern) for name in NAMELESS)


@pytest.mark.parametrize(
    ("method", "path", "body"), [one for requests in NAMING.values() for one in requests]
)
def test_key_of_a_region_is_refused_for_another_one(
    method: str,
    path: str,
    body: Any,
    stubs: Callable[..., list[Stub]],
    new_key: Callable[..., dict[str, str]],
) -> None:
    stub_eu, stub_ap = stubs(BOUND, OTHER)
    federate(stub_eu, stub_ap, replication={"enabled": True})
    headers = new_key(*sorted(SCOPES), region=BOUND)

    client = Client(raise_request_exception=False, headers=headers)
    answer = client.generic(
        method, f"/ojs/v1/{path}", b"" if body is None else orjson.dumps(body), "application/json"
    )

    assert answer.status_code == 403, answer.content
    problem = answer.json()["error"]
    assert (problem["code"], problem["details"]["region"]) == ("permission_denied", BOUND)
    assert problem["details"]["field"]
    assert stub_ap.requests == 0


@pytest.mark.parametrize("path", [f"{ONE}/breaker", f"{ONE}/probe", f"{ONE}/adopt", ONE])
def test_method_that_a_route_does_not_have_is_refused_as_such(path: str) -> None:
    answer = Client(raise_request_exception=False).generic("TRACE", f"/ojs/v1/{path}")

    assert answer.status_code == 405
