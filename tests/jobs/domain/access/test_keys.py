"""The text form of API keys, and the rights that keys grant. Spec: contract 31.2."""

import pytest

from jobs.domain.access import hashers, keys


def test_a_new_key_is_split_into_its_prefix_and_a_secret_that_matches_its_hash() -> None:
    text, prefix, secret_hash = keys.make()

    parts = keys.split(text)

    assert parts is not None
    assert parts[0] == prefix
    assert hashers.matches(parts[1], secret_hash)
    assert prefix not in parts[1]
    assert not hashers.matches(parts[1][:-1] + "!", secret_hash)


def test_no_two_keys_are_equal() -> None:
    assert len({keys.make()[0] for _ in range(1000)}) == 1000


@pytest.mark.parametrize(
    "text",
    [
        "", "ojs_", "ojs_abcdefgh_", "ojs_abcdefgh_" + "x" * 42, "ojs_abcdefgh_" + "x" * 44,
        "ojs_ABCDEFGH_" + "x" * 43, "ojs_abcdefg_" + "x" * 43, "sk_abcdefgh_" + "x" * 43,
        "ojs_abcdefgh_" + "x" * 42 + "!", "ojs_abcdefgh_" + "x" * 43 + "\n", "Bearer ojs_abcdefgh",
    ],
)  # fmt: skip
def test_other_text_is_no_key(text: str) -> None:
    assert keys.split(text) is None


@pytest.mark.parametrize(
    ("names", "scopes"),
    [
        ([], set()),
        (["producer"], {"ojs:data:enqueue"}),
        (["worker"], {"ojs:data:fetch"}),
        (["ojs:data:write"], {"ojs:data:enqueue", "ojs:data:fetch", "ojs:data:cancel"}),
        (["worker", "ojs:data:read"], {"ojs:data:fetch", "ojs:data:read"}),
        (["admin"], set(keys.SCOPES)),
        (sorted(keys.SCOPES), set(keys.SCOPES)),
    ],
)
def test_expand_turns_roles_into_scopes(names: list[str], scopes: set[str]) -> None:
    assert keys.expand(names) == scopes


def test_expand_refuses_an_unknown_name() -> None:
    with pytest.raises(ValueError, match="'root' is neither a scope nor a role"):
        keys.expand(["worker", "root"])


def test_every_role_grants_known_scopes_only() -> None:
    assert set().union(*keys.GROUPS.values()) <= keys.SCOPES


@pytest.mark.parametrize(
    ("name", "globs", "is_allowed"),
    [
        ("mail", (), True),
        ("mail", ("mail",), True),
        ("mail", ("mails",), False),
        ("mail.high", ("mail.*",), True),
        ("mail", ("mail.*",), False),
        ("MAIL", ("mail",), False),
        ("mail", ("pdf", "m*"), True),
        ("mail", ("[lm]ail",), True),
    ],
)
def test_allowed_compares_globs_exactly(
    name: str, globs: tuple[str, ...], is_allowed: bool
) -> None:
    assert keys.allowed(name, globs) is is_allowed
