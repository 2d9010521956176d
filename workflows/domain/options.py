"""Default options of a workflow, merged into the options of its steps. Spec: contract 8.1, D7."""

from collections.abc import Mapping
from typing import Any, Final

# Synonyms: a default under one name never overrides a step's value under another name.
SAME: Final = (
    frozenset({"timeout", "timeout_ms"}),
    frozenset({"visibility_timeout", "visibility_timeout_ms"}),
    frozenset({"scheduled_at", "delay_until"}),
    frozenset({"meta", "metadata"}),
)


def with_defaults(step: Mapping[str, Any], defaults: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the PUSH request of a step; its own members win over `defaults`."""
    options = step.get("options")
    if not defaults or not isinstance(options, Mapping | None):
        return step  # of a wrong type: the check of the job reports it
    own = {name: value for name, value in (options or {}).items() if value is not None}
    given = {name for source in (step, own) for name, value in source.items() if value is not None}
    merged = {name: value for name, value in defaults.items() if not given & _meaning(name)} | own
    if isinstance(defaults.get("metadata"), Mapping):  # merges with the step's metadata, which wins
        merged["metadata"] = {**defaults["metadata"], **_mapping(own.get("metadata"))}
    if own.get("max_attempts") is not None:  # the alias counts only beside a policy without it
        policy = {n: v for n, v in _mapping(merged.get("retry")).items() if n != "max_attempts"}
        merged["retry"] = own.get("retry") or policy or None
    return {**step, "options": merged}


def merged_defaults(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the defaults inside a nested workflow."""
    found: Mapping[str, Any] = with_defaults({"options": inner}, outer)["options"]
    return found


def _meaning(name: str) -> frozenset[str]:
    return next((names for names in SAME if name in names), frozenset({name}))


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
