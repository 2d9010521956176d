"""The manifest compared with the installed features and served paths. Spec: contract 3.9."""

import pytest
from django.test import Client

from jobs.api.server.manifest import CORE_TIER, NAMED, installed
from tests.installing import installing
from tests.jobs.api.routes import views

PREFIX = "ojs/v1/"
# federation readouts and probes have no versioned path
PATHS = sorted({path.removeprefix(PREFIX) for path, _ in views() if path.startswith(PREFIX)})


def _owners(path: str) -> set[str]:
    """Return the features with the longest matching path prefix."""
    fits = [
        (len(prefix), one.name)
        for one in installed()
        for prefix in one.paths
        if path == prefix or path.startswith(f"{prefix}/")
    ]
    return {name for length, name in fits if length == max(fits)[0]}


@pytest.mark.parametrize("path", PATHS)
def test_every_path_belongs_to_one_feature_of_the_manifest(path: str) -> None:
    assert len(_owners(path)) == 1


def test_every_feature_of_the_manifest_is_served() -> None:
    owners = set().union(*map(_owners, PATHS))

    assert owners == {one.name for one in installed() if one.paths}
    for one in installed():
        for prefix in one.paths:
            assert any(f"{path}/".startswith(f"{prefix}/") for path in PATHS), prefix


def test_manifest_names_what_is_served_and_nothing_else(client: Client) -> None:
    manifest = client.get("/ojs/manifest").json()

    served = [one for one in installed(is_live=False) if one.tier != CORE_TIER]
    assert manifest["extensions"] == [one.name for one in served]
    assert {"admin-api", "rate-limiting", "schema-registry"} <= set(manifest["extensions"])
    true = {name for name, has in manifest["capabilities"].items() if has}
    assert true == {name for one in installed(is_live=False) for name in one.capabilities}
    assert manifest["conformance_level"] == 4


def test_manifest_of_the_core_alone_claims_no_more(client: Client) -> None:
    with installing():
        manifest = client.get("/ojs/manifest").json()

    assert {"cron_jobs", "workflows", "schema_validation"} <= set(NAMED)
    assert not any(
        manifest["capabilities"][name] for name in ("cron_jobs", "workflows", "schema_validation")
    )
    assert manifest["conformance_level"] == 1
    assert "webhooks" not in manifest["extensions"]
