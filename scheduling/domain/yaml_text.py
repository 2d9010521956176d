"""Read the YAML of simulations, with PyYAML of the extra `console`."""

from collections.abc import Mapping
from typing import Any

import yaml

from jobs.domain.errors import Unprocessable
from jobs.domain.wire.jsonio import REQUEST_DEPTH

LONGEST_TEXT = 256 * 1024


class _Loader(yaml.SafeLoader):
    """Reject duplicate members, which YAML would silently replace, and deep texts early."""

    level = 0  # of the node that is read

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Read the next node; refuse one that is nested deeper than a request may be."""
        if not self.check_event(yaml.CollectionStartEvent):
            return super().compose_node(parent, index)
        if self.level == REQUEST_DEPTH:
            problem = f"it is nested deeper than {REQUEST_DEPTH} levels"
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]  # of the stubs
            raise yaml.composer.ComposerError(None, None, problem, mark)
        self.level += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self.level -= 1

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - the library's signature
        """Build a mapping; refuse duplicate keys and keys that are not strings."""
        met = set[str]()
        for node_of_key, _ in node.value:
            key = self.construct_object(node_of_key, deep=True)
            if not isinstance(key, str):
                problem = f"the member name {key!r} is not text: put it in quotes"
            elif key in met:
                problem = f"{key} is given twice: remove one"
            else:
                met.add(key)
                continue
            raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)
        return super().construct_mapping(node, deep=deep)


def read_yaml(text: str, name: str) -> Mapping[str, Any]:
    """Parse YAML (or JSON); an empty text is an empty object. Raises Unprocessable."""
    if len(text) > LONGEST_TEXT:
        raise Unprocessable.field(name, f"must have at most {LONGEST_TEXT} characters", len(text))
    try:
        found = yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as problem:
        said = " ".join(str(problem).split())
        raise Unprocessable.field(name, f"is not valid YAML: {said}") from None
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise Unprocessable.field(name, "must be an object", found)
    return found
