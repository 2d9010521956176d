"""The OpenAPI document and the page that shows it."""

import json
import re
from typing import Any

import jsonschema_rs
import pytest
from django.contrib.staticfiles import finders
from django.test import Client
from drf_spectacular.validation import validate_schema

from jobs.api.document import Generator
from jobs.api.server.docs import document
from tests.jobs.api.routes import views

DOCUMENT: dict[str, Any] = json.loads(document())
OPERATIONS = [
    pytest.param(path, method, built, id=built["operationId"])
    for path, methods in DOCUMENT["paths"].items()
    for method, built in methods.items()
]


def test_document_covers_every_method_of_every_route() -> None:
    routes = {f"/{path}": view for path, view in views()}
    found = {
        path: {method.upper() for method in methods} for path, methods in DOCUMENT["paths"].items()
    }

    assert found == {
        path: set(view().allowed_methods) - {"HEAD", "OPTIONS"} for path, view in routes.items()
    }


def test_document_is_valid_openapi() -> None:
    validate_schema(DOCUMENT)  # type: ignore[no-untyped-call]  # no types


def test_document_has_one_id_per_operation() -> None:
    ids = [built["operationId"] for ops in DOCUMENT["paths"].values() for built in ops.values()]

    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(("path", "method", "built"), OPERATIONS)
def test_operation_is_described(path: str, method: str, built: dict[str, Any]) -> None:
    named = {p["name"] for p in built["parameters"] if p.get("in") == "path"}

    assert built["summary"]
    assert named == set(re.findall(r"{(\w+)}", path))
    assert {"422", "500", "503", "504"} <= built["responses"].keys()
    assert ("x-ojs-scope" in built) == bool(built["security"])
    assert ("401" in built["responses"]) == ("403" in built["responses"])


@pytest.mark.parametrize("name", sorted(DOCUMENT["components"]["schemas"]))
def test_schema_is_valid(name: str) -> None:
    jsonschema_rs.meta.validate(DOCUMENT["components"]["schemas"][name])


def test_references_lead_somewhere() -> None:
    for reference in set(re.findall(r'"\$ref":"#/([^"]+)"', document().decode())):
        place: Any = DOCUMENT
        for part in reference.split("/"):
            place = place[part]


def test_document_is_the_same_every_time() -> None:
    assert json.loads(json.dumps(Generator().get_schema())) == DOCUMENT  # type: ignore[no-untyped-call]  # no types


def test_document_is_served(api: Client) -> None:
    answer = api.get("/ojs/v1/openapi.json")

    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert answer.json()["openapi"].startswith("3.1.")


def test_docs_page_uses_files_of_this_server_only(api: Client) -> None:
    answer = api.get("/ojs/v1/docs", HTTP_ACCEPT="text/html")
    links = re.findall(r'(?:href|src)="([^"]+)"', answer.content.decode())

    assert answer["Content-Type"] == "text/html; charset=utf-8"
    assert "script-src" not in answer["Content-Security-Policy"]  # default-src 'self' applies
    assert "<script>" not in answer.content.decode()
    assert len(links) == 4
    for link in links:
        assert link.startswith("/static/")
        assert finders.find(link.removeprefix("/static/"))


def test_docs_page_sends_a_browser_without_login_to_it(api: Client, with_keys: None) -> None:
    answer = api.get("/ojs/v1/docs", HTTP_ACCEPT="text/html,*/*")

    assert answer.status_code == 302
    assert answer["Location"] == "/console/login/?next=/ojs/v1/docs"


def test_docs_page_refuses_other_clients_as_every_endpoint(api: Client, with_keys: None) -> None:
    answer = api.get("/ojs/v1/docs")

    assert answer.status_code == 401
    assert answer["Content-Type"] == "application/openjobspec+json"
    assert answer.json()["error"]["code"] == "unauthenticated"
