"""The steps of a move of a tenant from one cell to another."""

from enum import StrEnum
from typing import Final


class MoveStep(StrEnum):
    """The last step that a cell has begun."""

    DRAINING = "draining"  # old cell: suspended; active jobs end
    COPYING = "copying"  # old cell: jobs leave in batches
    RECEIVING = "receiving"  # new cell: suspended; jobs arrive
    DONE = "done"  # both cells


UNFINISHED: Final = (MoveStep.DRAINING, MoveStep.COPYING, MoveStep.RECEIVING)
MOVING_RETRY_S: Final = 5  # Retry-After of a refusal during the move
MOVED_RETRY_S: Final = 60  # and after it, for producers that learn the new address otherwise
