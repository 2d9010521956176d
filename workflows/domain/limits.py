"""Sizes and times of workflows."""

from typing import Final

# all results that one job is given; each may have a MiB, and a batch ten thousand of them
MAX_RESULTS_BYTES: Final = 16 * 1024 * 1024
SHOWN_RESULTS_BYTES: Final = 8 * 1024 * 1024  # of all steps in one answer, as stored
RETENTION_MS: Final = 7 * 86_400_000  # at least so long after the end. Spec: contract 10.6
AGAIN_MS: Final = 86_400_000  # until a tree whose jobs are still kept is looked at again
RETRY_MS: Final = 1_000  # until a job that was refused for a while is tried again
