"""Policies for a schedule that is due while its latest run is live. Spec: contract 7.4."""

from enum import StrEnum
from typing import Final


class Overlap(StrEnum):
    """Wire names of the policies."""

    SKIP = "skip"
    ALLOW = "allow"
    CANCEL_PREVIOUS = "cancel_previous"
    ENQUEUE = "enqueue"


MAX_WAITING: Final = 10  # runs that `enqueue` holds back; further runs are skipped


class Reason(StrEnum):
    """Reason for an occurrence without a job; also the refusing error's code in lower case."""

    OVERLAP = "overlap_skip"
    CLOCKS = "dst_skip"
    DUPLICATE = "duplicate"
    DROPPED = "dropped"  # by an enqueue middleware
    FAILED = "error"  # unexpected error; the log has it
