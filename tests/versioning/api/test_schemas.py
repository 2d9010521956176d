"""The schema registry over HTTP. Spec: job-versioning 6, 11, contract 30."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from jobs.models import Audit
from tests.spec import spec
from tests.tenancy.wire import answer, send
from versioning.services import schemas as services

pytestmark = pytest.mark.usefixtures("store")

AMOUNT = {"type": "object", "required": ["amount"], "properties": {"amount": {"type": "integer"}}}
ARGS = {"type": "array", "prefixItems": [AMOUNT], "minItems": 1}
POSITIONS = {"type": "array", "items": [{"type": "string"}], "minItems": 1}


def put(path: str, *, status: int = 201, query: str = "", **body: Any) -> Any:
    """Register by PUT."""
    return answer(send("PUT", f"admin/schemas/{path}{query}", body), status)


def post(*, status: int = 201, **body: Any) -> Any:
    """Register by POST."""
    return answer(send("POST", "schemas", body), status)


def error(found: Any) -> tuple[str, Any]:
    """Return code and details of an error."""
    return found["error"]["code"], found["error"]["details"]


@spec("VER-6.1-a")
def test_put_registers_a_schema() -> None:
    found = put(
        "invoice.generate/2.0", type="invoice.generate", version="2.0", args_schema=ARGS,
        compatible_with=["1.0"],
    )  # fmt: skip

    assert found["type"] == found["job_type"] == "invoice.generate"
    assert found["version"] == "2.0"
    assert found["schema"] == found["args_schema"] == ARGS
    assert found["compatible_with"] == ["1.0"]
    assert found["validation_mode"] == "strict"
    assert found["target"] == "args"
    assert found["is_latest"]
    assert found["routing"] == {"strategy": "weighted", "versions": []}
    assert {k: v for k, v in found.items() if k in found["schema_entry"]} == found["schema_entry"]
    shown = answer(send("GET", "admin/schemas/invoice.generate/2"))
    assert shown == found["schema_entry"]


@spec("contract 30.1")
def test_seed_form_updates() -> None:
    put("a.b/1.0", args_schema=ARGS)

    found = put("a.b/1", status=200, args_schema={**ARGS, "maxItems": 2})

    assert found["schema"]["maxItems"] == 2
    assert found["version"] == "1.0"  # in its first spelling
    assert answer(send("GET", "admin/schemas/a.b/versions"))["versions"][1:] == []


@spec("contract 30.1")
def test_upstream_form_conflicts_with_a_different_document() -> None:
    first = put("a.b/1", schema=POSITIONS)

    assert first["version"] == 1
    assert first["validation_mode"] == "warn"
    reordered = dict(reversed(POSITIONS.items()))
    assert put("a.b/1.0.0", status=200, schema=reordered)["version"] == 1
    code, details = error(put("a.b/1", status=409, schema={"type": "array"}))
    assert code == "schema_conflict"
    assert details["reason"] == "schema_exists"
    put("a.b/1", status=200, query="?on_conflict=replace", schema={"type": "array"})
    code, _ = error(put("a.b/1", status=409, query="?on_conflict=error", args_schema=ARGS))
    assert code == "schema_conflict"


@spec("contract 30.1")
def test_body_says_the_mode() -> None:
    assert put("a.b/1", args_schema=ARGS, validation_mode="off")["validation_mode"] == "off"
    assert put("a.b/2", schema=ARGS, validation_mode="strict")["validation_mode"] == "strict"


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "invalid_request"), ({"schema": {}}, 400, "invalid_request"),
        ({"schema": None}, 400, "invalid_request"),
        ({"schema": ARGS, "args_schema": ARGS}, 422, "invalid_request"),
        ({"schema": [1]}, 422, "invalid_schema"), ({"schema": "x"}, 422, "invalid_schema"),
        ({"schema": {"type": "nope"}}, 422, "invalid_schema"),
        ({"schema": {"$ref": "https://example.org/a"}}, 422, "invalid_schema"),
        ({"schema": ARGS, "type": "c.d"}, 422, "invalid_request"),
        ({"schema": ARGS, "version": "2"}, 422, "invalid_request"),
        ({"schema": ARGS, "version": 1.1}, 422, "invalid_version"),
        ({"schema": ARGS, "validation_mode": "loud"}, 422, "invalid_request"),
        ({"schema": ARGS, "compatible_with": ["^1"]}, 422, "invalid_version"),
        ({"schema": ARGS, "compatible_with": "1.0"}, 422, "invalid_request"),
        ({"schema": ARGS, "colour": "red"}, 422, "invalid_request"),
    ],
)  # fmt: skip
@spec("contract 30.1")
def test_bad_bodies_are_refused(body: Any, status: int, code: str) -> None:
    found = answer(send("PUT", "admin/schemas/a.b/1", body), status)

    assert found["error"]["code"] == code
    assert found["error"]["details"]["field"]


@pytest.mark.parametrize(
    ("path", "code"),
    [("a.b/v2", "invalid_version"), ("a.b/02", "invalid_version"), ("A/1", "invalid_request"),
     ("a.b/1.2.3-rc", "invalid_version")],
)  # fmt: skip
@spec("contract 30.2")
def test_bad_paths_are_refused(path: str, code: str) -> None:
    assert error(put(path, status=422, schema=ARGS))[0] == code


@spec("contract 30.2")
def test_latest_is_the_highest_version() -> None:
    for version in ("1.10", "2.0.1", "1.9", "2"):
        put(f"a.b/{version}", schema=POSITIONS)
    put("c.d/1", schema=POSITIONS)

    found = answer(send("GET", "admin/schemas/a.b"))

    assert found["version"] == "2.0.1"
    assert [one["version"] for one in found["versions"]] == ["2.0.1", 2, "1.10", "1.9"]
    assert found["items"] == found["versions"]
    assert [one["is_latest"] for one in found["versions"]] == [True, False, False, False]
    listed = answer(send("GET", "admin/schemas"))
    assert [(one["type"], one["version"]) for one in listed["schemas"]] == [
        ("a.b", "2.0.1"), ("c.d", 1)
    ]  # fmt: skip
    assert listed["items"] == listed["schemas"]
    assert listed["pagination"]["total"] == 2
    assert answer(send("GET", "admin/schemas?q=c.&per_page=1"))["total"] == 1


@spec("contract 30.2")
def test_versions_are_listed_newest_first() -> None:
    put("a.b/1", schema=POSITIONS)
    put("a.b/2", schema=POSITIONS, compatible_with=[1])

    found = answer(send("GET", "admin/schemas/a.b/versions"))

    assert found["type"] == "a.b"
    assert [(v["version"], v["is_latest"], v["compatible_with"]) for v in found["versions"]] == [
        (2, True, [1]), (1, False, [])
    ]  # fmt: skip


@spec("contract 30.2")
def test_deleted_versions_are_gone() -> None:
    put("a.b/1", schema=POSITIONS)
    put("a.b/2", schema=POSITIONS)

    found = answer(send("DELETE", "admin/schemas/a.b/2.0"))

    assert found == {"deleted": True, "type": "a.b", "version": 2}
    assert answer(send("GET", "admin/schemas/a.b"))["version"] == 1
    assert answer(send("DELETE", "admin/schemas/a.b"))["deleted"]
    assert Audit.objects.filter(action="schema.deleted").count() == 2


@pytest.mark.parametrize(
    "path",
    ["a.b", "a.b/1", "a.b/versions", "a.b/x", "a.b/diff", "x" * 3000, "é",
     "a.b/99999999999"],
)  # fmt: skip
@spec("contract 30.2")
def test_what_is_not_there_is_404(path: str) -> None:
    assert send("GET", f"admin/schemas/{path}").status_code == 404
    if path not in {"a.b/versions", "a.b/diff"}:
        assert send("DELETE", f"admin/schemas/{path}").status_code == 404


@spec("contract 30.2")
def test_arguments_are_tried() -> None:
    put("a.b/1", args_schema=ARGS)
    put("a.b/2", args_schema=POSITIONS)

    def check(**body: Any) -> Any:
        return answer(send("POST", "admin/schemas/a.b/validate", body))

    assert check(args=["x"]) == {"valid": True, "errors": []}
    assert check(args=["x"], version="1.0") == {
        "valid": False, "errors": ["/0: must be of type object"],
    }  # fmt: skip
    assert answer(send("POST", "admin/schemas/a.b/validate", {"args": 3}), 400)
    assert answer(send("POST", "admin/schemas/a.b/validate", {"args": [], "version": "9"}), 404)
    assert answer(send("POST", "admin/schemas/a.b/validate", {"args": [], "version": "x"}), 422)
    assert answer(send("POST", "admin/schemas/c.d/validate", {"args": []}), 404)


@spec("contract 30.3")
def test_documents_come_back_as_sent() -> None:
    document = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "array",
        "items": [{"required": ["z", "a"], "format": "ipv4"}],
        "x-mine": [10**18, 1.0],
    }

    put("a.b/1", schema=document)

    assert answer(send("GET", "admin/schemas/a.b/1"))["schema"] == document
    assert list(answer(send("GET", "admin/schemas/a.b/1"))["schema"]) == list(document)


# --- the form that SDKs use ---


@spec("contract 30.2")
def test_sdk_form_registers_new_versions_only() -> None:
    found = post(job_type="a.b", version="1.0.0", schema=POSITIONS)

    entry = found["schema"]
    assert (entry["job_type"], entry["version"], entry["schema"]) == ("a.b", "1.0.0", POSITIONS)
    assert entry["created_at"]
    assert error(post(status=409, job_type="a.b", version="1", schema=POSITIONS))[0] == (
        "schema_conflict"
    )
    assert answer(send("GET", "schemas/a.b"))["schema"] == entry
    assert answer(send("GET", "schemas/a.b/versions/1"))["schema"] == entry
    assert answer(send("GET", "schemas/a.b/1.0"))["schema"] == entry
    assert answer(send("GET", "schemas/a.b/versions"))["versions"][0]["version"] == "1.0.0"
    assert answer(send("GET", "schemas"))["schemas"] == [entry]
    assert answer(send("GET", "admin/schemas/a.b"))["validation_mode"] == "warn"
    assert answer(send("DELETE", "schemas/a.b/1"))["deleted"]
    assert send("GET", "schemas/a.b").status_code == 404


@pytest.mark.parametrize(
    "uri",
    ["urn:ojs:schema:a.b:1", "https://example.org/schemas/a.b/1.0?x=1#y", "x:%2Fa", "u:é"],
)
@spec("contract 30.2")
def test_uris_name_schemas(uri: str) -> None:
    found = post(uri=uri, type="a.b", version="1.0", schema=POSITIONS)

    assert (found["uri"], found["type"], found["version"]) == (uri, "a.b", "1.0")
    path = f"schemas/{quote(uri, safe='')}"
    assert answer(send("GET", path))["schema"] == found["schema"]
    code, _ = error(post(status=409, uri=uri, type="a.b", version="2.0", schema=POSITIONS))
    assert code == "schema_conflict"
    assert answer(send("DELETE", path)) == {"deleted": True, "type": "a.b", "version": "1.0"}
    assert send("GET", path).status_code == send("DELETE", path).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"version": "1", "schema": ARGS}, 400), ({"job_type": "a.b", "schema": ARGS}, 400),
        ({"job_type": "a.b", "version": "1"}, 400),
        ({"job_type": "a.b", "type": "c.d", "version": "1", "schema": ARGS}, 422),
        ({"job_type": "A", "version": "1", "schema": ARGS}, 422),
        ({"job_type": "a.b", "version": "1", "args_schema": ARGS}, 422),
        ({"type": "a.b", "version": "1", "schema": ARGS, "uri": "a b"}, 422),
        ({"type": "a.b", "version": "1", "schema": ARGS, "uri": "a" * 3000}, 422),
        ({"type": "a.b", "version": [1], "schema": ARGS}, 422),
    ],
)  # fmt: skip
@spec("contract 30.2")
def test_bad_sdk_bodies_are_refused(body: Any, status: int) -> None:
    assert answer(send("POST", "schemas", body), status)["error"]["code"]


# --- compatibility ---

CURRENCY = {
    "type": "array",
    "prefixItems": [
        {**AMOUNT, "required": ["amount", "currency"],
         "properties": {**AMOUNT["properties"], "currency": {"type": "string"}}}  # type: ignore[dict-item]  # a mapping
    ],
    "minItems": 1,
}  # fmt: skip


@spec("contract 30.5")
def test_breaking_changes_are_told() -> None:
    put("a.b/1.0", args_schema=ARGS)

    found = put("a.b/1.1", args_schema=CURRENCY)

    assert found["compared_with"] == "1.0"
    (change,) = found["breaking_changes"]
    assert change == {
        "path": "/0/currency", "kind": "required_added", "message": "a required field is new",
        "rule": "making an optional field required", "breaking": True, "breaks": ["backward"],
        "required_bump": "major",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("version", "more"), [("2.0", {}), ("1.1", {"compatible_with": ["1.0"]}), ("0.9", {})]
)
@spec("contract 30.5")
def test_what_is_no_successor_or_said_to_fit_is_not_told(version: str, more: Any) -> None:
    put("a.b/1.0", args_schema=ARGS)

    assert put(f"a.b/{version}", args_schema=CURRENCY, **more)["breaking_changes"] == []


@spec("contract 30.5")
def test_nearest_lower_version_of_the_major_counts() -> None:
    put("a.b/1.0", args_schema=ARGS)
    put("a.b/1.2", args_schema=CURRENCY)
    put("a.b/1.9", args_schema=ARGS)

    assert put("a.b/1.3", args_schema=CURRENCY)["compared_with"] == "1.2"


@spec("VER-7.2-a")
def test_minor_version_with_breaking_changes_is_rejected(settings: Any) -> None:
    settings.OJS_VERSIONING = {**settings.OJS_VERSIONING, "SCHEMA_COMPATIBILITY": "enforce"}
    put("a.b/1.0", args_schema=ARGS)

    code, details = error(put("a.b/1.1", status=422, args_schema=CURRENCY))

    assert code == "breaking_change"
    assert details["required_version"] == "2.0"
    assert details["compared_with"] == "1.0"
    assert details["breaking_changes"][0]["path"] == "/0/currency"
    assert send("GET", "admin/schemas/a.b/1.1").status_code == 404
    put("a.b/2.0", args_schema=CURRENCY)


@spec("VER-7.1-a")
def test_minor_version_with_additive_changes_is_accepted(settings: Any) -> None:
    settings.OJS_VERSIONING = {**settings.OJS_VERSIONING, "SCHEMA_COMPATIBILITY": "enforce"}
    put("a.b/1.0", args_schema=ARGS)

    found = put("a.b/1.1", args_schema={**ARGS, "prefixItems": [AMOUNT, {"type": "string"}]})

    assert found["breaking_changes"] == []


@pytest.mark.parametrize(
    ("policy", "mode", "told"),
    [("off", "backward", 0), ("warn", "none", 0), ("warn", "forward", 0), ("warn", "full", 1)],
)
@spec("contract 30.5")
def test_settings_choose_what_breaks(policy: str, mode: str, told: int, settings: Any) -> None:
    settings.OJS_VERSIONING = {
        **settings.OJS_VERSIONING,
        "SCHEMA_COMPATIBILITY": policy,
        "SCHEMA_COMPATIBILITY_MODE": mode,
    }
    put("a.b/1.0", args_schema=ARGS)

    assert len(put("a.b/1.1", args_schema=CURRENCY)["breaking_changes"]) == told


@spec("contract 30.5")
def test_two_versions_are_compared() -> None:
    put("a.b/1.0", args_schema=ARGS)
    put("a.b/1.1", args_schema=CURRENCY)

    found = answer(send("GET", "admin/schemas/a.b/diff?from=1.0&to=1.1"))

    assert (found["from"], found["to"]) == ("1.0", "1.1")
    assert found["breaking"]
    assert (found["required_bump"], found["given_bump"]) == ("major", "minor")
    assert [one["path"] for one in found["changes"]] == ["/0/currency"]
    assert answer(send("GET", "admin/schemas/a.b/diff")) == found
    back = answer(send("GET", "admin/schemas/a.b/diff?from=1.1&to=1.0"))
    assert back["changes"][0]["rule"] == "removing or renaming a field"
    assert send("GET", "admin/schemas/a.b/diff?from=9").status_code == 404
    assert send("GET", "admin/schemas/a.b/diff?from=x").status_code == 400


# --- tenants ---


@spec("contract 30.2")
def test_callers_bound_to_a_tenant_read_but_change_nothing(
    with_keys: None, new_key: Callable[..., dict[str, str]]
) -> None:
    operator = new_key("ojs:admin:read", "ojs:admin:write")
    bound = new_key("ojs:admin:read", "ojs:admin:write", "ojs:data:read", tenant="blue")
    answer(send("PUT", "admin/schemas/a.b/1", {"schema": ARGS}, **operator), 201)

    assert answer(send("GET", "schemas/a.b", **bound))
    for method, path, body in [
        ("PUT", "admin/schemas/a.b/2", {"schema": ARGS}),
        ("DELETE", "admin/schemas/a.b/1", None), ("DELETE", "schemas/a.b", None),
        ("POST", "schemas", {"job_type": "a.b", "version": "3", "schema": ARGS}),
    ]:  # fmt: skip
        assert send(method, path, body, **bound).status_code == 403


def test_schema_types_have_a_bounded_number_of_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MOST_VERSIONS", 2)
    put("a.b/1", schema=ARGS)
    put("a.b/2", schema=ARGS)

    assert error(put("a.b/3", status=422, schema=ARGS))[1]["field"] == "version"
    put("a.b/2", status=200, schema=ARGS)
