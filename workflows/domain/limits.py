"""Sizes and times of workflows."""

from typing import Final

# all results passed to one job; each may have a MiB, and a batch may have 10,000 members
MAX_RESULTS_BYTES: Final = 16 * 1024 * 1024
SHOWN_RESULTS_BYTES: Final = 8 * 1024 * 1024  # of all steps in one response, as stored
RETENTION_MS: Final = 7 * 86_400_000  # least time to keep an ended workflow. Spec: contract 10.6
AGAIN_MS: Final = 86_400_000  # until the next check of a tree whose jobs still exist
RETRY_MS: Final = 1_000  # until the next try of a job that was refused for now
