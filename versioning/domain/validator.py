"""Check arguments by a document. Spec: contract 30.3, 30.4.

The caller keeps the compiled document. No reference is fetched, and patterns run in linear time.
The length of error messages is bounded, and they never repeat the arguments.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, Final

from jsonschema_rs import Draft202012Validator, RegexOptions, ValidationError

from versioning.domain.schema import Document, Target, refusal
from versioning.domain.schema_load import token

MAX_ERRORS: Final = 20
MAX_PATTERN_BYTES: Final = 1_048_576
MANY: Final = 10_000  # values; beyond this number only the first problem is returned
SHOWN: Final = 200  # characters quoted from a document
PATTERNS = RegexOptions(size_limit=MAX_PATTERN_BYTES, dfa_size_limit=MAX_PATTERN_BYTES)
LIMITS: Final = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} elements",
    "maxItems": "must have at most {} elements",
    "minProperties": "must have at least {} members",
    "maxProperties": "must have at most {} members",
    "multipleOf": "must be a multiple of {}",
    "enum": "must be one of {}",
    "const": "must be {}",
    "pattern": "must match {}",
    "format": "must be a valid {}",
    "type": "must be of type {}",
}
RULES: Final = {
    "falseSchema": "is not allowed",
    "uniqueItems": "must not repeat elements",
    "anyOf": "fits none of the alternatives",
    "oneOfNotValid": "fits none of the alternatives",
    "oneOfMultipleValid": "fits several of the alternatives",
    "not": "is of a kind that is not allowed",
    "contains": "has no element of the kind that is needed",
    "propertyNames": "has a member whose name is not allowed",
}


class Validator:
    """One compiled document; `asserts_formats` makes `format` an assertion."""

    def __init__(self, document: Document, *, asserts_formats: bool) -> None:
        """Compile the document. Raises InvalidSchema, which names the place."""
        self.target = document.target
        self.form = document.form
        self.takes_encoded = document.takes_encoded
        try:
            self._compiled = Draft202012Validator(
                document.form,
                offline=True,
                validate_formats=asserts_formats,
                pattern_options=PATTERNS,
            )
        except ValidationError as problem:
            place = "".join(map(token, problem.instance_path))
            raise refusal(place, _why_not(problem)) from None

    def problems(self, args: Sequence[Any]) -> list[str]:
        """Return the problems of arguments, each as "/0/currency: required"; at most 20."""
        if self.target is Target.FIRST and not args:
            return ["/0: required"]
        value = args[0] if self.target is Target.FIRST else args
        if self._compiled.is_valid(value):
            return []
        start = "/0" if self.target is Target.FIRST else ""
        return [
            line
            for problem in self._errors(value)
            for line in _lines(problem, start, self.form)
        ][:MAX_ERRORS]  # fmt: skip

    def _errors(self, value: Any) -> Iterator[ValidationError]:
        if _is_small(value):  # the library creates all errors before it yields the first
            yield from islice(self._compiled.iter_errors(value), MAX_ERRORS)
            return
        try:
            self._compiled.validate(value)
        except ValidationError as problem:
            yield problem


def _is_small(value: Any) -> bool:
    seen, level = 0, [value]
    while level:
        seen += len(level)
        if seen > MANY:
            return False
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return True


def _lines(problem: ValidationError, start: str, form: Any) -> Iterator[str]:
    place = start + "".join(map(token, problem.instance_path))
    name = problem.kind.name
    if name == "required":
        yield f"{place}{token(problem.kind.as_dict()['property'])}: required"
    elif name in {"additionalProperties", "unevaluatedProperties"}:
        for unexpected in problem.kind.as_dict()["unexpected"][:MAX_ERRORS]:
            yield f"{place}{token(unexpected)[:SHOWN]}: is not allowed"
    elif name in LIMITS:
        yield f"{place}: {LIMITS[name].format(_asked(problem, form))}"
    else:
        yield f"{place}: {RULES.get(name, 'does not fit')}"


def _asked(problem: ValidationError, form: Any) -> str:
    """Return the value of the keyword that was not met."""
    found = form
    try:
        for step in problem.schema_path:
            if isinstance(found, dict) and "$ref" in found and step not in found:
                return _of_kind(problem)
            found = found[step]
    except (LookupError, TypeError):
        return _of_kind(problem)
    shown = " or ".join(found) if problem.kind.name == "type" and isinstance(found, list) else found
    return str(shown)[:SHOWN]


def _of_kind(problem: ValidationError) -> str:
    facts = list(problem.kind.as_dict().values())
    found = facts[0] if facts else ""
    return (" or ".join(map(str, found)) if isinstance(found, list) else str(found))[:SHOWN]


def _why_not(problem: ValidationError) -> str:
    if problem.kind.name == "format":
        return "must be a regular expression without look-around and back-references, and small"
    return "is not JSON Schema 2020-12"
