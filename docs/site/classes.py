"""The class of a code block: what a test does with it. CONTRIBUTING.md describes the classes."""

from dataclasses import dataclass
from typing import Final

from docs.site.markdown import Block

BY_LANGUAGE: Final = {
    "python": {"run", "compile", "file", "append", "show"},
    "sh": {"run", "background", "request", "options", "compile", "show"},
    "json": {"parse", "file", "show"},
    "yaml": {"parse", "file", "show"},
    "toml": {"parse", "file", "show"},
    "http": {"parse", "show"},
    "text": {"show", "output", "file"},
    "html": {"show", "file"},
    "nginx": {"show"},
    "sql": {"show"},
    "mermaid": {"show"},
}
# the class without a word behind the language
USUAL: Final = {
    "json": "parse", "yaml": "parse", "toml": "parse", "http": "parse", "text": "show",
    "html": "show", "nginx": "show", "sql": "show", "mermaid": "show",
}  # fmt: skip
NEEDS_REASON: Final = {("python", "compile"), ("sh", "compile"), ("sh", "options"),
                       ("python", "show"), ("sh", "show"), ("json", "show"), ("yaml", "show"),
                       ("toml", "show"), ("http", "show")}  # fmt: skip
LIVE: Final = {"run", "background", "request", "file", "append", "output"}


class WrongClass(ValueError):
    """Error: a block has no class, or a class that its language does not have."""


@dataclass(frozen=True, slots=True)
class Class:
    """The class of a block; `detail` is the reason, or the path of a file."""

    name: str
    detail: str


def class_of(block: Block) -> Class:
    """Return the class of a block. Raises WrongClass."""
    allowed = BY_LANGUAGE.get(block.language)
    if allowed is None:
        raise WrongClass(
            f"line {block.line}: no language, or an unknown language: {block.language!r}"
        )
    word, colon, reason = block.info.partition(":")
    for one in ("file", "append"):
        if word.startswith(f"{one}="):
            word, reason = one, word.removeprefix(f"{one}=")
    name = word or USUAL.get(block.language, "")
    if name not in allowed:
        raise WrongClass(f"line {block.line}: {block.language} needs a class of {sorted(allowed)}")
    if ((block.language, name) in NEEDS_REASON and not reason.strip()) or (colon and not word):
        raise WrongClass(f"line {block.line}: the class {name!r} needs a reason behind a colon")
    return Class(name, reason.strip())
