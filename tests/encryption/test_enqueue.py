"""Encoded arguments at the server: schemas, plaintext, uniqueness, the manifest. Contract 35."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.test import Client

from encryption.checks import check_settings
from jobs.domain.access.caller import SYSTEM
from jobs.domain.envelope import parse_job
from jobs.domain.errors import OJSError
from jobs.models import Job
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.read.show import show
from ojs_tasks.codecs.payload import DIGEST
from tests.spec import spec
from versioning.domain.schema import Mode
from versioning.services.schemas import Registration, register

pytestmark = pytest.mark.usefixtures("store")
ENCODED = {"ojs_encoded": True, "encoding": "zstd/plain+binary/encrypted", "data": "AQID"}
Push = Callable[..., Any]


def push(args: Any, **members: Any) -> Any:
    """Enqueue a job of the type card.charge."""
    (job,) = enqueue([parse_job({"type": "card.charge", "args": args, **members})], SYSTEM)
    return job


@spec("contract 35")
def test_encoded_arguments_and_their_meta_are_kept_byte_for_byte() -> None:
    meta = {"ojs.codec.encodings": ["zstd/plain", "binary/encrypted"], "ojs.codec.key_id": "k"}

    job = push([ENCODED], meta=meta)

    shown = show(job.id)
    assert orjson.loads(shown.args) == [ENCODED]
    assert orjson.loads(shown.meta) == meta


@spec("contract 35")
def test_a_type_refuses_plaintext(settings: Any) -> None:
    settings.OJS_ENCRYPTION = {"REQUIRE_ENCODED": ["card.*"]}

    for args in ([{"number": "4111"}], ["4111"], [{"ojs_encoded": False, "data": "AQID"}]):
        with pytest.raises(OJSError) as caught:
            push(args)
        problem = caught.value
        assert (problem.code, problem.status) == ("plaintext_refused", 422)
        assert problem.details["field"] == "args"
        assert "4111" not in repr(problem.details) + problem.message
    push([ENCODED])
    push([])
    push([7, {"__kwargs__": {"card": ENCODED}}])
    enqueue([parse_job({"type": "mail.send", "args": ["ada"]})], SYSTEM)
    assert Job.objects.count() == 4


@pytest.mark.parametrize(
    ("document", "is_refused"),
    [
        ({"type": "array", "prefixItems": [{"type": "string"}]}, False),
        ({"type": "array", "prefixItems": [{"type": "string"}], "x-encoded": "allow"}, True),
    ],
)
@spec("contract 35")
def test_a_schema_checks_encoded_arguments_only_if_it_says_so(
    document: dict[str, Any], *, is_refused: bool
) -> None:
    register(Registration("card.charge", "1.0", document, Mode.STRICT))

    if is_refused:
        with pytest.raises(OJSError, match="do not fit the schema"):
            push([ENCODED], version="1.0")
    else:
        push([ENCODED], version="1.0")
    with pytest.raises(OJSError, match="do not fit the schema"):
        push([7], version="1.0", meta={"ojs.codec.encodings": ["gzip/plain"]})


def test_another_value_of_x_encoded_is_refused() -> None:
    with pytest.raises(OJSError, match=r"schema/x-encoded must be"):
        register(Registration("card.charge", "1.0", {"x-encoded": "deny"}, Mode.STRICT))


@spec("contract 35")
def test_encoded_unique_jobs_are_equal_by_their_digest() -> None:
    unique = {"keys": ["type", "args"], "on_conflict": "ignore"}
    other = {**ENCODED, "data": "BAUG"}

    first = push([ENCODED], unique=unique, meta={DIGEST: "d1"})
    second = push([other], unique=unique, meta={DIGEST: "d1"})
    third = push([other], unique=unique, meta={DIGEST: "d2"})
    plain = push(["a"], unique=unique, meta={DIGEST: "d1"})
    unlike = push(["b"], unique=unique, meta={DIGEST: "d1"})  # a digest means encoded ones only

    assert first.id == second.id
    assert len({first.id, third.id, plain.id, unlike.id}) == 4


@spec("contract 35")
def test_the_manifest_names_the_codec_server(client: Client, settings: Any) -> None:
    settings.OJS_ENCRYPTION = {"CODEC_SERVER_URL": "https://codec.example.org"}

    (found,) = [
        one
        for one in client.get("/ojs/manifest").json()["extension_details"]["experimental"]
        if one["name"] == "encryption"
    ]
    assert found["uri"] == "urn:ojs:ext:experimental:encryption"
    assert found["codec_server_url"] == "https://codec.example.org"


@pytest.mark.parametrize(
    ("wrong", "number"),
    [
        ({"KEYS": "x"}, "E001"),
        ({"CODEC_SERVER_URL": "codec.example.org"}, "E002"),
        ({"TOKEN_S": 0}, "E003"),
        ({"REQUIRE_ENCODED": [7]}, "E004"),
    ],
)
def test_wrong_settings_are_reported(settings: Any, wrong: dict[str, Any], number: str) -> None:
    settings.OJS_ENCRYPTION = wrong

    assert [problem.id for problem in check_settings()] == [f"ojs_encryption.{number}"]
