"""Documents of a type to compare, and their differences."""

from typing import Any

from versioning.domain.comparison import changes
from versioning.domain.compatibility import Change
from versioning.domain.schema import read

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}


def found(old: Any, new: Any) -> list[Change]:
    """Compare two documents."""
    return changes(read(old), read(new))


def field(schema: Any, *, required: bool = False, **more: Any) -> dict[str, Any]:
    """Return a document for one argument, an object with the field `a`."""
    needed = {"required": ["a"]} if required else {}
    return {"type": "object", "properties": {"a": schema}, **needed, **more}


NO_FIELD = {"type": "object", "properties": {}}
