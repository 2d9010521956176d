"""How many examples the tests of properties try: a third, or all by `make test-long`."""

import os
from typing import Final

IS_THOROUGH: Final = os.environ.get("OJS_TEST_THOROUGH") == "true"
LEAST: Final = 5


def examples(number: int) -> int:
    """Return how many of `number` examples a test tries. Its mark is `thorough`."""
    return number if IS_THOROUGH else min(number, max(LEAST, number // 3))
