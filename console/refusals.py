"""The error of a form, with its field, in the words of the API's refusal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobs.domain.errors import OJSError


@dataclass(frozen=True, slots=True)
class Wrong:
    """An error of a form and its field; an empty field stands for the whole form."""

    field: str
    text: str


def refusal_of(problem: OJSError, fields: Mapping[str, str], inside: Callable[[str], str]) -> Wrong:
    """Return the field and the text of a refusal.

    `fields` maps names of the API to fields of the form; the longest name that begins the path
    decides. `inside` describes the rest of the path in words.
    """
    path = str(problem.details.get("field", ""))
    matching = [
        name for name in fields if path == name or path.startswith((f"{name}.", f"{name}["))
    ]
    text = str(problem)
    if not matching:
        return Wrong("", _sentence(text))
    name = max(matching, key=len)
    if "expected" in problem.details:
        text = str(problem.details["expected"])
        if inner := path.removeprefix(name).removeprefix("."):
            text = f"{inside(inner)} {text}"
        received = problem.details.get("received")
        if isinstance(received, str | int | float) and received != "":
            text += f", not “{received}”"
    return Wrong(fields[name], _sentence(text))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + "."


def number(text: str) -> int | float | str | None:
    """Read a number; return other text as it is, for the refusal to show."""
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
