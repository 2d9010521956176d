"""Hashes of stored secrets. Spec: contract 31.2."""

import pytest

from jobs.domain.access import hashers
from tests.spec import spec

SECRET = "s" * 43


@pytest.mark.parametrize("hasher", hashers.HASHERS)
@spec("contract 31.2")
def test_a_secret_matches_its_own_hash_alone(hasher: str) -> None:
    stored = hashers.hashed(SECRET, hasher)

    assert hashers.matches(SECRET, stored)
    assert not hashers.matches("t" * 43, stored)
    assert SECRET.encode() not in stored


@pytest.mark.parametrize("hasher", ["argon2", "scrypt"])
@spec("contract 31.2")
def test_slow_hashes_are_salted(hasher: str) -> None:
    first, second = hashers.hashed(SECRET, hasher), hashers.hashed(SECRET, hasher)

    assert first != second
    assert hashers.is_slow(first)


@spec("contract 31.2")
def test_a_fast_hash_is_never_taken_for_a_slow_one() -> None:
    assert not hashers.is_slow(hashers.hashed(SECRET, "sha256"))
    assert not hashers.is_slow((hashers.SCRYPT + b"x" * 32)[:32])


@spec("contract 31.2")
def test_a_broken_hash_matches_nothing() -> None:
    assert not hashers.matches(SECRET, b"$argon2id$broken-and-longer-than-32-bytes")
