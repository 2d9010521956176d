"""Each codec alone: what it writes, what it reads, and what it refuses. Spec: contract 35."""

import base64
import gzip
import os
import zlib

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hypothesis import given
from hypothesis import strategies as st

from ojs_tasks.codecs import (
    CodecFailed,
    CodecKeyUnknown,
    Encryption,
    Facts,
    Gzip,
    Key,
    KeyRing,
    Zstd,
    compression,
    keys,
)
from ojs_tasks.codecs.coding import Coding
from ojs_tasks.codecs.payload import Payload, unwrapped, wrapped
from tests.ojs_tasks.codecs.conftest import NEW, OLD
from tests.spec import spec

FACTS = Facts("card.charge", "acme", NEW.id)
ENCODED = base64.b64encode(NEW.secret).decode()
LONG = b'{"number":"4111111111111111"}' * 40


@spec("contract 35")
def test_encryption_is_aes_256_gcm_with_version_and_nonce(ring: KeyRing) -> None:
    encoding, data, key_id = Encryption(ring).encode(LONG, FACTS)

    assert (encoding, key_id, data[:1]) == ("binary/encrypted", NEW.id, b"\x01")
    assert AESGCM(NEW.secret).decrypt(data[1:13], data[13:], None) == LONG


def test_equal_values_are_encrypted_differently(ring: KeyRing) -> None:
    encryption = Encryption(ring)

    assert len({encryption.encode(LONG, FACTS).data for _ in range(50)}) == 50


@spec("contract 35")
def test_an_older_key_decodes_what_names_it(ring: KeyRing) -> None:
    data = Encryption(KeyRing.of(OLD)).encode(LONG, FACTS).data

    old = Facts(FACTS.type, FACTS.tenant, OLD.id)

    assert Encryption(ring).decode("binary/encrypted", data, old) == LONG


@spec("contract 35")
def test_an_unknown_key_is_named_and_no_value(ring: KeyRing) -> None:
    encryption = Encryption(ring)
    data = encryption.encode(LONG, FACTS).data

    with pytest.raises(CodecKeyUnknown, match="'2031-01'"):
        encryption.decode("binary/encrypted", data, Facts("a", key_id="2031-01"))
    with pytest.raises(CodecKeyUnknown, match="no key with this id"):
        encryption.decode("binary/encrypted", data, Facts("a", key_id="looks like\na secret"))


@spec("contract 35")
@given(st.integers(0, 200), st.integers(1, 255))
def test_a_changed_byte_is_found(place: int, change: int) -> None:
    encryption = Encryption(KeyRing.of(NEW))
    data = bytearray(encryption.encode(b"a secret " * 20, FACTS).data)
    data[place % len(data)] ^= change

    with pytest.raises(CodecFailed) as caught:
        encryption.decode("binary/encrypted", bytes(data), FACTS)
    assert "secret" not in str(caught.value)


@spec("D-ENC-1")
def test_a_bound_value_decodes_for_its_type_and_tenant_alone(ring: KeyRing) -> None:
    encoding, data, _ = Encryption(ring, bind=["type", "tenant"]).encode(LONG, FACTS)
    plain = Encryption(ring)  # the name tells what is bound

    assert encoding == "binary/encrypted;aad=type.tenant"
    assert plain.decode(encoding, data, FACTS) == LONG
    for other in (Facts("card.refund", "acme", NEW.id), Facts("card.charge", "zebra", NEW.id)):
        with pytest.raises(CodecFailed):
            plain.decode(encoding, data, other)
    for name in ("binary/encrypted", "binary/encrypted;aad=type", "binary/encrypted;aad=secret"):
        with pytest.raises(CodecFailed):
            plain.decode(name, data, FACTS)


def test_only_known_facts_can_be_bound(ring: KeyRing) -> None:
    with pytest.raises(ValueError, match="type and tenant, not 'queue'"):
        Encryption(ring, bind=["queue"])


@pytest.mark.parametrize("codec", [Gzip(), Zstd()])
def test_compression_is_left_out_where_it_does_not_shrink(codec: Gzip | Zstd) -> None:
    found = codec.encode(LONG, FACTS)

    assert found is not None
    assert len(found.data) < len(LONG) / 4
    assert codec.decode(found.encoding, found.data, FACTS) == LONG
    assert codec.encode(b"[1]", FACTS) is None
    assert codec.encode(os.urandom(500), FACTS) is None


def test_gzip_is_the_common_format() -> None:
    assert Gzip().decode("gzip/plain", gzip.compress(LONG), FACTS) == LONG


@pytest.mark.parametrize("codec", [Gzip(), Zstd()])
def test_a_small_value_cannot_become_a_huge_one(
    codec: Gzip | Zstd, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = codec.encode(b"0" * 100_000, FACTS)
    assert found is not None

    monkeypatch.setattr(compression, "MOST_BYTES", 99_999)

    with pytest.raises(CodecFailed, match="99999 bytes"):
        codec.decode(found.encoding, found.data, FACTS)


@given(st.binary(max_size=300))
def test_no_bytes_crash_a_codec(data: bytes) -> None:
    for codec, name in (
        (Gzip(), "gzip/plain"), (Zstd(), "zstd/plain"),
        (Encryption(KeyRing.of(NEW)), "binary/encrypted"),
    ):  # fmt: skip
        with pytest.raises(CodecFailed):
            codec.decode(name, data + b"\0", FACTS)


def test_a_cut_stream_is_refused() -> None:
    for data in (gzip.compress(LONG)[:-4], gzip.compress(LONG) + b"more", zlib.compress(LONG)):
        with pytest.raises(CodecFailed):
            Gzip().decode("gzip/plain", data, FACTS)


# --- keys -----------------------------------------------------------------------------------------


def test_keys_are_read_from_the_environment_and_from_a_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pytest.TempPathFactory
) -> None:
    text = f"2026-11={ENCODED}\n2026-01={base64.b64encode(OLD.secret).decode()}"
    monkeypatch.setenv("KEYS_OF_TEST", text)
    path = tmp_path / "keys"  # type: ignore[operator]
    path.write_text(text)

    for ring in (KeyRing.from_env("KEYS_OF_TEST"), KeyRing.from_file(path)):
        assert ring.newest == NEW
        assert ring.key("2026-01") == OLD
        assert "nnn" not in repr(ring) + repr(ring.newest)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no key"),
        ("a=b29v", "must have 32 bytes"),
        ("a=%%%", "key 'a' of the variable KEYS is no base64"),
        ("sécret", "no base64|id of a key"),
        (f"a={ENCODED} a={ENCODED}", "two keys"),
    ],
)  # fmt: skip
def test_wrong_keys_are_refused_without_showing_them(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEYS", text)

    with pytest.raises(ValueError, match=message) as caught:
        KeyRing.from_env("KEYS")
    assert "b29v" not in str(caught.value)


@spec("contract 35")
def test_a_rotation_needs_no_restart_of_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = [[OLD]]
    looks: list[int] = []

    def load() -> list[Key]:
        looks.append(1)
        return loaded[0]

    ring = KeyRing(load)
    with pytest.raises(CodecKeyUnknown):
        ring.key(NEW.id)  # a moment after the start: it does not look again
    assert len(looks) == 1
    loaded[0] = [NEW, OLD]
    monkeypatch.setattr(keys, "AGAIN_S", 0)

    assert ring.key(NEW.id) == NEW
    assert ring.newest == NEW


def test_a_failed_reload_keeps_the_keys() -> None:
    loaded = [[OLD]]
    ring = KeyRing(lambda: loaded[0])
    loaded[0] = []

    with pytest.raises(ValueError, match="at least one key"):
        ring.reload()
    assert ring.key(OLD.id) == OLD


# --- the JSON form --------------------------------------------------------------------------------


@spec("contract 35")
def test_an_encoded_value_names_its_encodings_in_order() -> None:
    payload = Payload(("gzip/plain", "binary/encrypted"), b"\0\1")

    shown = wrapped(payload)

    assert shown == {
        "ojs_encoded": True, "encoding": "gzip/plain+binary/encrypted", "data": "AAE=",
    }  # fmt: skip
    assert unwrapped(shown) == payload


@given(
    st.dictionaries(
        st.sampled_from(["encoding", "data", "key_id", "ojs_encoded"]),
        st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.lists(st.text()),
    )
)
def test_no_json_value_crashes_decoding(value: dict[str, object]) -> None:
    coding = Coding([Gzip(), Encryption(KeyRing.of(NEW))])

    with pytest.raises((CodecFailed, CodecKeyUnknown)):
        coding.value({**value, "ojs_encoded": True}, FACTS)
