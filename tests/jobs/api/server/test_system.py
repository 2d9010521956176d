"""Manifest, readiness and reset. Spec: contract 3.2, 3.9, 32.1."""

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.db.models.functions import Now
from django.test import Client

from jobs import VERSION, extensions, queries
from jobs.api.server import health, system
from jobs.conf import Conf, conf
from jobs.extensions import Facts, ReportHooks
from jobs.models import Job, LoopTick
from tests.factories import stored
from tests.installing import installing

OJS = "application/openjobspec+json"
Keys = Callable[..., dict[str, str]]
READY = pytest.mark.parametrize("path", ["/ready", "/readyz"])


@pytest.fixture
def ticking(store: None) -> Iterator[None]:
    """Record a run of a loop just now."""
    LoopTick.objects.all().delete()
    queries.tick("promote")
    yield
    LoopTick.objects.all().delete()


@READY
@pytest.mark.usefixtures("ticking")
def test_ready_when_database_tables_and_loops_are_there(api: Client, path: str) -> None:
    answer = api.get(path)

    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ready",
        "checks": {"database": "ok", "migrations": "ok", "loops": "ok", "writes": "ok"},
    }


@READY
@pytest.mark.usefixtures("ticking")
def test_ready_with_stopped_loops_says_so_and_still_takes_requests(api: Client, path: str) -> None:
    LoopTick.objects.update(ticked_at=Now() - timedelta(minutes=1))

    answer = api.get(path)

    assert answer.status_code == 200
    assert answer.json()["checks"]["loops"] == "stale"


@READY
@pytest.mark.usefixtures("ticking")
def test_ready_without_a_database_is_not(
    api: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: int) -> None:
        raise OperationalError

    monkeypatch.setattr(queries, "vitals", fail)

    answer = api.get(path)

    assert answer.status_code == 503
    assert answer.json()["status"] == "not_ready"
    assert answer.json()["checks"]["database"] == "OperationalError"


@READY
@pytest.mark.usefixtures("ticking")
def test_ready_with_missing_tables_is_not(
    api: Client, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(health, "is_migrated", lambda: False)

    answer = api.get(path)

    assert answer.status_code == 503
    assert answer.json() == {
        "status": "not_ready",
        "checks": {"database": "ok", "migrations": "missing", "loops": "ok", "writes": "ok"},
    }


@pytest.mark.parametrize(
    ("role", "told"),
    [
        (None, "missing"),
        ("producer", "missing"),
        ("admin", "missing: table ojs_x, function ojs_claim_jobs"),
    ],
)
@pytest.mark.usefixtures("ticking")
def test_ready_names_what_is_missing_to_those_alone_who_may_read_it(
    api: Client, new_key: Keys, monkeypatch: pytest.MonkeyPatch, role: str | None, told: str
) -> None:
    monkeypatch.setattr(health, "is_migrated", lambda: False)
    monkeypatch.setattr(health, "lacking", lambda: "table ojs_x, function ojs_claim_jobs")

    answer = api.get("/ready", headers=new_key(role) if role else {})

    assert answer.status_code == 503
    assert answer.json()["checks"]["migrations"] == told


@pytest.mark.parametrize("path", ["/livez", "/healthz"])
def test_alive_asks_no_database(client: Client, path: str) -> None:
    answer = client.get(path)  # no database fixture here, so any statement would fail

    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_manifest_tells_what_this_server_can_do(client: Client) -> None:
    answer = client.get("/ojs/manifest")

    manifest = answer.json()
    assert answer.headers["Content-Type"] == OJS
    assert manifest["specversion"] == manifest["ojs_version"] == "1.0"
    assert manifest["implementation"]["name"] == "ojs-django"
    assert manifest["implementation"]["version"] == VERSION
    assert manifest["backend"] == "postgres"
    assert manifest["limits"]["max_batch_size"] == conf().max_batch
    assert manifest["endpoints"] == {
        "base_url": "http://testserver/ojs/v1",
        "manifest": "/ojs/manifest",
        "health": "/ojs/v1/health",
    }
    assert {type(value) for value in manifest["capabilities"].values()} == {bool}


class More(ReportHooks):
    """Extension that declares a capability."""

    def manifest(self) -> Sequence[Facts]:
        """Declare a capability."""
        return (Facts("more", "urn:ojs:ext:more", "1.0.0", capabilities={"made_up": True}),)


class Silent(ReportHooks):
    """Extension that is installed but disabled."""

    def manifest(self) -> Sequence[Facts]:
        """Declare nothing."""
        return ()


def test_manifest_declares_extensions_that_are_on(client: Client) -> None:
    before = client.get("/ojs/manifest").json()

    with installing(*extensions.installed(), More(), Silent()):
        manifest = client.get("/ojs/manifest").json()

    assert manifest["extensions"] == [*before["extensions"], "more"]
    assert manifest["extension_details"]["official"][-1] == {
        "name": "more", "uri": "urn:ojs:ext:more", "version": "1.0.0",
    }  # fmt: skip
    assert manifest["capabilities"]["made_up"] is True
    assert before["capabilities"]["cron_jobs"] is True
    assert before["conformance_level"] == manifest["conformance_level"] == 4


def test_reset_forgets_all_jobs(api: Client) -> None:
    stored(3)

    assert api.post("/ojs/v1/admin/reset", content_type=OJS).status_code == 204

    assert not Job.objects.exists()


def test_reset_does_not_exist_unless_allowed(api: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    stored(3)
    monkeypatch.setattr(system, "conf", lambda: Conf(allow_reset=False))

    answer = api.post("/ojs/v1/admin/reset", content_type=OJS)

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert Job.objects.count() == 3
