"""Names of errors, as `non_retryable_errors` of a retry policy lists them."""

from collections.abc import Iterable, Sequence


def is_listed(patterns: Iterable[str], names: Sequence[object]) -> bool:
    """Return whether `non_retryable_errors` names the type or code of an error."""
    return any(
        name == entry or (entry.endswith(".*") and name.startswith(entry[:-1]))
        for entry in patterns
        for name in names
        if isinstance(name, str)
    )
