"""What to do when a schedule is due while its latest run goes on. Spec: contract 7.4."""

from enum import StrEnum
from typing import Final


class Overlap(StrEnum):
    """Wire names of the policies."""

    SKIP = "skip"
    ALLOW = "allow"
    CANCEL_PREVIOUS = "cancel_previous"
    ENQUEUE = "enqueue"


MAX_WAITING: Final = 10  # runs held back by `enqueue`; more are skipped


class Reason(StrEnum):
    """Why an occurrence made no job; also the code of the error that refused it, in lower case."""

    OVERLAP = "overlap_skip"
    CLOCKS = "dst_skip"
    DUPLICATE = "duplicate"
    DROPPED = "dropped"  # by an enqueue middleware
    FAILED = "error"  # unforeseen; the log has it
