"""The pages of schemas. Spec: contract 30."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from versioning.domain.schema import Mode
from versioning.domain.schema_version import parse_key
from versioning.models import Schema
from versioning.services import schemas
from versioning.services.schemas import Registration, register

PAGE = "/console/schemas/"
pytestmark = pytest.mark.usefixtures("store")
OLD: dict[str, Any] = {"type": "object", "properties": {"amount": {"type": "integer"}}}
NEW: dict[str, Any] = {**OLD, "required": ["amount"]}


def made(version: str, document: Any, **more: Any) -> None:
    """Register a version."""
    register(Registration("invoice.generate", version, document, Mode.STRICT, **more))


def test_types_are_listed_with_their_latest_version(console: Client) -> None:
    made("1.0", OLD)
    made("1.10", NEW)

    page = console.get(PAGE).content.decode()

    assert "invoice.generate" in page
    assert "1.10" in page
    assert "refused" in page
    assert "invoice.generate" not in console.get(PAGE, {"type": "mail"}).content.decode()


def test_a_type_shows_versions_document_and_what_breaks(console: Client) -> None:
    made("1.0", OLD)
    made("1.1", NEW, compatible_with=["1.0"])

    page = console.get(f"{PAGE}invoice.generate/").content.decode()

    assert "From 1.0 to 1.1" in page
    assert "making an optional field required" in page
    assert "require a <b>major</b> version; the new version is a minor one" in " ".join(
        page.split()
    )
    assert '<span class="added">+  &quot;required&quot;: [</span>' in page
    back = console.get(f"{PAGE}invoice.generate/", {"version": "1.0", "from": "1.1"})
    assert "a required field is optional now" in back.content.decode()
    first = console.get(f"{PAGE}invoice.generate/", {"version": "1.0"}).content.decode()
    assert "From" not in first


@pytest.mark.parametrize(
    "path",
    ["?page=0", "?page=x", "?page=99999999", "?page=9999", "?type=%00x", "?type=%3Cscript%3E",
     "invoice.generate/?version=%00&from=9"],
)  # fmt: skip
def test_the_pages_take_any_query(path: str, console: Client) -> None:
    made("1.0", {**OLD, "title": "</pre><script>"})

    answer = console.get(PAGE + path)

    assert answer.status_code == 200
    assert "<script>" not in answer.content.decode().replace("<script src", "")


@pytest.mark.parametrize("path", ["none/", "x%3Cscript%3E/"])
def test_types_without_schemas_have_no_page(path: str, console: Client) -> None:
    assert console.get(PAGE + path).status_code == 404


def test_the_pages_need_the_permission(viewer: User) -> None:
    client = Client()
    client.force_login(viewer)

    assert client.get(PAGE).status_code == 403


def test_the_list_reads_a_page_of_many_types(console: Client) -> None:
    digest = schemas.digest({"type": "array"})
    rows = (
        Schema(
            type=f"many.t{chr(97 + n // 1000)}{n % 1000:03}", version="1", digest=digest,
            document='{"type":"array"}', target="args", mode="warn", **parse_key("1")._asdict(),
        )
        for n in range(10_000)
    )  # fmt: skip
    Schema.objects.bulk_create(rows, batch_size=1_000)

    with CaptureQueriesContext(connection) as found:
        answer = console.get(PAGE, {"page": "200"})

    assert len(answer.context["rows"]) == 50
    assert answer.context["total"] == 10_000
    assert sum("ojs_schema" in one["sql"] for one in found.captured_queries) == 3
