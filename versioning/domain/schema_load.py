"""Bound the work that a document can cause for one value, for any arguments.

A schema leads to other schemas for the same value (`allOf`, `$ref`, …) and for values inside it
(`properties`, `items`, …). If several paths lead to one place, they multiply at each level; a few
lines can then cost unlimited time. So `check_load` walks all paths down and counts which schemas
meet at one value, and how often each. Recursive references end in a set that was seen before. Sets
that grow without end reach the bound.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

MAX_LOAD: Final = 1_000  # schemas that one value meets, each counted as often as it is reached
MAX_SETS: Final = 20_000  # different sets of schemas that meet
MAX_CHAIN: Final = 100  # of schemas that lead to one another for the same value


class Involved(ValueError):
    """Checking arguments by this document may take too long."""


class Step(NamedTuple):
    """One step down a value: into an array or an object, at one place or (None) at any."""

    into_array: bool
    name: str | None


class Inner(NamedTuple):
    """A schema that another schema uses, and the step to its value; None: the same value."""

    place: str
    schema: Any
    step: Step | None


INTO_ANY: Final = Step(into_array=True, name=None)
INTO_ANY_MEMBER: Final = Step(into_array=False, name=None)
LISTS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
MAPS: Final = frozenset({"properties", "patternProperties", "dependentSchemas"})
ONE: Final[Mapping[str, Step | None]] = {
    **dict.fromkeys(("not", "if", "then", "else")),
    **dict.fromkeys(("items", "contains", "unevaluatedItems"), INTO_ANY),
    **dict.fromkeys(
        ("additionalProperties", "propertyNames", "unevaluatedProperties"), INTO_ANY_MEMBER
    ),
}


def token(name: object) -> str:
    """Return one step of a JSON Pointer."""
    return "/" + str(name).replace("~", "~0").replace("/", "~1")


def at(form: Any, pointer: str) -> Any:
    """Return the schema at a place of a form, as `$ref` writes it without its '#'."""
    for step in unquote(pointer).split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        form = form[int(name)] if isinstance(form, list) else form[name]
    return form


def inner_schemas(schema: Mapping[str, Any], place: str = "") -> Iterator[Inner]:
    """Yield the schemas that a schema uses, without following references."""
    for name, value in schema.items():
        here = place + token(name)
        if name in LISTS:
            for n, one in enumerate(value):
                step = Step(into_array=True, name=str(n)) if name == "prefixItems" else None
                yield Inner(f"{here}/{n}", one, step)
        elif name in MAPS:
            for key, one in value.items():
                step = Step(into_array=False, name=key if name == "properties" else None)
                yield Inner(here + token(key), one, None if name == "dependentSchemas" else step)
        elif name in ONE:
            yield Inner(here, value, ONE[name])


@dataclass(slots=True)
class _Reach:
    """The schemas below a schema: `size` for the same value, and counted paths down."""

    size: int = 1
    down: Counter[tuple[Step, str]] = field(default_factory=Counter)

    def add(self, other: "_Reach") -> None:
        self.size += other.size
        self.down.update(other.down)


class _Walk:
    """Cached paths from each place of one form."""

    def __init__(self, form: Any) -> None:
        self.form = form
        self.reached: dict[str, _Reach | None] = {}  # None: in progress
        self.schemas: dict[str, Any] = {}
        self.chain = 0

    def reach(self, place: str, schema: Any) -> _Reach:
        """Return the paths from a place. Raises Involved for a reference loop at one value."""
        if place in self.reached:
            found = self.reached[place]
            if found is None:
                raise Involved("has a reference that comes back to itself for the same value")
            return found
        if self.chain > MAX_CHAIN:
            raise Involved(f"has a chain of more than {MAX_CHAIN} references for the same value")
        self.reached[place] = None
        self.chain += 1
        found = self.reached[place] = self.looked_up(place, schema)
        self.chain -= 1
        return found

    def looked_up(self, place: str, schema: Any) -> _Reach:
        found = _Reach()
        if not isinstance(schema, dict):
            return found
        for inner in inner_schemas(schema, place):
            if inner.step is None:
                found.add(self.reach(inner.place, inner.schema))
            else:
                self.schemas[inner.place] = inner.schema
                found.down[inner.step, inner.place] += 1
        if "$ref" in schema:
            target = schema["$ref"][1:]
            found.add(self.reach(unquote(target), at(self.form, target)))
        return found

    def below(self, met: Mapping[str, int]) -> Iterator[Counter[str]]:
        """Yield the schemas that meet one step below `met`, with their numbers."""
        down: Counter[tuple[Step, str]] = Counter()
        for place, times in met.items():
            for edge, number in self.reach(place, self.schemas[place]).down.items():
                down[edge] += number * times
        by_step: dict[Step, Counter[str]] = {}
        for (step, place), number in down.items():
            by_step.setdefault(step, Counter())[place] += number
        for step, found in by_step.items():
            anywhere = by_step.get(Step(step.into_array, None), Counter())
            yield found if step.name is None else found + anywhere

    def load(self, met: Mapping[str, int]) -> int:
        return sum(
            times * self.reach(place, self.schemas[place]).size for place, times in met.items()
        )


def check_load(form: Any) -> None:
    """Refuse a form that may cause too much work for one value. Raises Involved."""
    walk = _Walk(form)
    walk.schemas[""] = form
    first = Counter({"": 1})
    seen, todo = {frozenset(first.items())}, [first]
    while todo:
        met = todo.pop()
        if walk.load(met) > MAX_LOAD:
            raise Involved(
                f"may apply more than {MAX_LOAD} schemas to one value: references multiply there"
            )
        for below in walk.below(met):
            key = frozenset(below.items())
            if key not in seen:
                seen.add(key)
                todo.append(below)
        if len(seen) > MAX_SETS:
            raise Involved(f"combines its schemas in more than {MAX_SETS} ways")
