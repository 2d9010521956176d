"""What is wrong with a form, told by the field it is in, in the words of the API's refusal."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from jobs.domain.errors import OJSError


@dataclass(frozen=True, slots=True)
class Wrong:
    """What is wrong with a form, and in which of its fields; empty: in none."""

    field: str
    text: str


def told(problem: OJSError, fields: Mapping[str, str], inside: Callable[[str], str]) -> Wrong:
    """Find the field that a refusal is about, and say it in words.

    `fields` are those of the form by names of the API, of which the longest that begins the path
    decides; `inside` says in words what the rest of the path is in it.
    """
    path = str(problem.details.get("field", ""))
    known = [name for name in fields if path == name or path.startswith((f"{name}.", f"{name}["))]
    text = str(problem)
    if not known:
        return Wrong("", _sentence(text))
    name = max(known, key=len)
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
    """Read a number; what is none stays as it is, for the refusal to show."""
    if not text:
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
