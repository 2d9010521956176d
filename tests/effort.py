"""How many examples the tests of properties try: a third, or all by `make test-long`."""

import os
from collections.abc import Iterable
from typing import Final, TypeVar

IS_THOROUGH: Final = os.environ.get("OJS_TEST_THOROUGH") == "true"
LEAST: Final = 5
Case = TypeVar("Case")


def examples(number: int) -> int:
    """Return how many of `number` examples a test tries. Its mark is `thorough`."""
    return number if IS_THOROUGH else min(number, max(LEAST, number // 3))


def of_each(cases: Iterable[Case]) -> list[Case]:
    """Return the cases that a test tries, from all parts of their order. Its mark is `thorough`."""
    return list(cases)[:: 1 if IS_THOROUGH else 3]
