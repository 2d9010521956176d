"""One worker process with a database: the engine and what connects it to this project."""

from jobs.bounds import Work, for_thread
from jobs.database import connection
from jobs.worker.answers import acker
from jobs.worker.claimer import Claimer
from jobs.worker.config import WorkerConfig
from jobs.worker.execution import EXECUTION
from jobs.worker.heartbeats import Heartbeats
from jobs.worker.notices import Notices
from jobs.worker.returns import Returns
from ojs_tasks.worker.engine import Engine
from ojs_tasks.worker.waits import Waits


class WorkerProcess:
    """A worker process; `run` blocks until it has to end and returns an exit code."""

    def __init__(self, config: WorkerConfig, notices: Notices | None = None) -> None:
        """Prepare; no thread runs yet. The main thread waits for `notices` of new jobs."""
        self.notices = notices or Notices()
        self.engine = Engine(config, acker(), Waits(self.notices.wake), EXECUTION)
        self.directives, self.in_flight = self.engine.directives, self.engine.in_flight
        self.returns = Returns(config.worker_id, self.in_flight, self.engine.acker)
        self.heartbeats = Heartbeats(
            config, self.in_flight, self.directives, waits=self.engine.waits, returns=self.returns
        )
        self.claimer = Claimer(
            config,
            self.engine,
            self.returns,
            notices=self.notices,
        )

    def run(self) -> int:
        """Work until told to end, then drain. Returns an exit code."""
        connection.close()  # it was opened with other bounds
        for_thread(Work.REQUESTS)
        return self.engine.run(self.claimer, self.heartbeats, self.returns)
