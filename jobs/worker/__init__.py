"""The worker of this project: the engine of `ojs_tasks.worker` on this project's database.

`process.py` is one process. Its main thread claims (`claimer.py`) when `notices.py` has news.
`execution.py` sets what is special about its attempts, `reports.py` stores their progress, and
`answers.py` their outcomes. `heartbeats.py` reports the process with the versions of
`declaration.py`, `returns.py` gives jobs back. `schedules.py` registers the schedules in code, and
`foreground.py` runs jobs in a test.
"""
