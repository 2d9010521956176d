"""Names and the job that every path stores, claims and ends."""

from typing import Final

CLAIMED: Final = "bench"  # the queue of the backlog
ENQUEUED: Final = "bench-in"  # the queue of the enqueue paths
CYCLED: Final = "bench-cycle"  # the queue of jobs that are claimed at once
NOOP: Final = "bench.noop"
SLOW: Final = "bench.slow"  # type of the jobs whose argument is their run time
TIMED: Final = "bench.timed"  # type and queue of the jobs that return their start time
NOTED: Final = "bench.noted"  # type of the jobs whose runs a drill counts
NOTES: Final = "BENCH_NOTES"  # the file in which a worker notes these runs
ARGS: Final = [4711, "ada@example.org"]
META: Final = {"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}
ONE_BY_ONE: Final = "BENCH_ONE_BY_ONE"  # set: handlers wait for the commit of their result
ENGINE: Final = "BENCH_ENGINE"  # set: the database engine instead of the project's
PLAIN_ENGINE: Final = "django.db.backends.postgresql"
COUNTING_ENGINE: Final = "ojs_project.database"
GROUPED = "bench-grouped"  # queue of the members of workflows and of comparable jobs
