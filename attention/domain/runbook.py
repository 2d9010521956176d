"""Notes and saved procedures: what operators read and do at a queue, a type or an alert."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from jobs.domain.access.caller import MAX_REASON
from jobs.domain.errors import InvalidRequest
from jobs.domain.outcome.bulk import ALLOWED, LEAST_RATE, MOST_RATE, Verb
from jobs.domain.states import State
from jobs.domain.wire.names import QUEUE_PATTERN, TYPE_PATTERN
from jobs.domain.wire.priorities import read_priority

MOST_TEXT: Final = 20_000  # characters of a note
MOST_NAME: Final = 255  # of a subject
MOST_NOTES: Final = 5_000
MOST_PROCEDURES: Final = 500
MOST_DESCRIPTION: Final = 1_000
NAME: Final = re.compile(r"[a-z0-9][a-z0-9.-]{0,99}")
SUBJECT: Final = (
    "{subject}"  # in a filter: the name of the queue, the type or the finding's subject
)
TEXTS: Final = ("queue", "type", "tenant", "error_type")
FILTER: Final = ("state", *TEXTS, "priority")


class About(StrEnum):
    """The kind of object that a note or a procedure is about."""

    QUEUE = "queue"
    TYPE = "type"
    ALERT = "alert"  # all findings of a rule


PATTERNS: Final[Mapping[About, re.Pattern[str]]] = {
    About.QUEUE: QUEUE_PATTERN, About.TYPE: TYPE_PATTERN, About.ALERT: re.compile(r"[a-z_]+"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Place:
    """An object with a runbook; `name` of an alert is the id of its rule."""

    about: About
    name: str


@dataclass(frozen=True, slots=True)
class Procedure:
    """An operation on the jobs of a filter, which operators start after its preview."""

    name: str
    place: Place
    verb: Verb
    wanted: Mapping[str, Any]  # members of FILTER
    rate: int | None = None  # jobs a second, at most; None: the default of the operations
    reason: str | None = None  # proposed for the audit log
    description: str | None = None

    def filter_for(self, subject: str) -> dict[str, str]:
        """Return the filter for an object, by member."""
        return {name: str(value).replace(SUBJECT, subject) for name, value in self.wanted.items()}


NAMED: Final = {About.QUEUE: "a queue", About.TYPE: "a type", About.ALERT: "an alert"}


def parse_place(about: object, name: object) -> Place:
    """Read an object. Raises InvalidRequest."""
    if about not in list(About):
        raise InvalidRequest.field("about", f"must be one of {', '.join(About)}", about)
    if not isinstance(name, str) or not 1 <= len(name) <= MOST_NAME or not name.isprintable():
        rule = f"must be 1 to {MOST_NAME} printable characters"
        raise InvalidRequest.field("subject", rule, name)
    kind = About(str(about))
    pattern = PATTERNS[kind]
    if not pattern.fullmatch(name):
        raise InvalidRequest.field("subject", f"is not the name of {NAMED[kind]}", name)
    return Place(kind, name)


def parse_text(raw: object) -> str:
    """Read the Markdown of a note, with line feeds as ends of lines. Raises InvalidRequest."""
    if not isinstance(raw, str) or not raw.strip():
        raise InvalidRequest.field("text", "must be Markdown that is not empty")
    text = raw.replace("\r\n", "\n").replace("\r", "\n").strip() + "\n"
    if len(text) > MOST_TEXT or "\0" in text:
        raise InvalidRequest.field("text", f"must be at most {MOST_TEXT} characters without NUL")
    return text


def parse_procedure(name: str, body: Mapping[str, Any]) -> Procedure:
    """Read a procedure. Raises InvalidRequest with the wrong member."""
    known = {"name", "about", "subject", "action", "filter", "rate", "reason", "description"}
    for member in body:
        if member not in known:
            raise InvalidRequest.field(member[:100], "is not a member of a procedure")
    if not NAME.fullmatch(name):
        rule = "must be 1 to 100 of a-z, 0-9, '.' and '-', not '.' or '-' first"
        raise InvalidRequest.field("name", rule, name[:200])
    if body.get("action") not in list(Verb):
        raise InvalidRequest.field(
            "action", f"must be one of {', '.join(Verb)}", body.get("action")
        )
    verb = Verb(body["action"])
    return Procedure(
        name,
        parse_place(body.get("about"), body.get("subject")),
        verb,
        _filter(verb, body.get("filter")),
        _rate(body.get("rate")),
        _words(body, "reason", MAX_REASON),
        _words(body, "description", MOST_DESCRIPTION),
    )


def _filter(verb: Verb, raw: object) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise InvalidRequest.field("filter", "must be an object", raw)
    for member in raw:
        if member not in FILTER:
            rule = f"is not a member: known are {', '.join(FILTER)}"
            raise InvalidRequest.field(f"filter.{member[:100]}", rule)
    given = {name: raw[name] for name in FILTER if raw.get(name) is not None}
    if not any(name in given for name in TEXTS):
        raise InvalidRequest.field("filter", f"must have one of {', '.join(TEXTS)}")
    for name in TEXTS:
        _check_text(name, given.get(name, SUBJECT))
    allowed = [state.value for state in State if state in ALLOWED[verb]]
    if given.get("state", allowed[0]) not in allowed:
        rule = f"must be one of {', '.join(allowed)} to {verb}"
        raise InvalidRequest.field("filter.state", rule, given["state"])
    if "priority" in given:
        given["priority"] = _priority(given["priority"])
    return given


def _check_text(name: str, text: object) -> None:
    if not isinstance(text, str) or not 1 <= len(text) <= MOST_NAME or not text.isprintable():
        rule = f"must be 1 to {MOST_NAME} printable characters"
        raise InvalidRequest.field(f"filter.{name}", rule, text)


def _priority(raw: object) -> int:
    try:
        return read_priority(str(raw))
    except ValueError as problem:
        raise InvalidRequest.field("filter.priority", str(problem), raw) from None


def _rate(raw: object) -> int | None:
    if raw is None:
        return None
    if type(raw) is not int or not LEAST_RATE <= raw <= MOST_RATE:
        rule = f"must be a whole number from {LEAST_RATE} to {MOST_RATE}"
        raise InvalidRequest.field("rate", rule, raw)
    return raw


def _words(body: Mapping[str, Any], name: str, most: int) -> str | None:
    raw = body.get(name)
    if raw is None or raw == "":
        return None
    if not isinstance(raw, str) or len(raw) > most or "\0" in raw:
        raise InvalidRequest.field(name, f"must be text of at most {most} characters", raw)
    return raw
