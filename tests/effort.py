"""How much tests try: a part of the examples and cases, or all by `make test-long`.

`tests/conftest.py` marks the tests of a module that imports one of the functions as `thorough`.
"""

import os
from collections.abc import Iterable
from typing import Final, TypeVar

IS_THOROUGH: Final = os.environ.get("OJS_TEST_THOROUGH") == "true"
SHARE: Final = 5  # one of so many
LEAST: Final = 5
Case = TypeVar("Case")


def examples(number: int) -> int:
    """Return how many of `number` examples a test tries."""
    return number if IS_THOROUGH else min(number, max(LEAST, number // SHARE))


def of_each(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that a test tries, from all parts of their order."""
    return list(cases)[:: 1 if IS_THOROUGH else SHARE]
