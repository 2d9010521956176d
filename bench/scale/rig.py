"""One PostgreSQL with a database and a server for each dataset, and what they cost."""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench.against import usage
from bench.database import Database
from bench.dataset import Dataset
from bench.memory import Peaks
from bench.scale.measure import Point
from bench.stack import HTTP_PROCESSES, Process, Stack
from ojs_project.postgres import Cluster

# several servers run at once, each with about 40 connections of loops
CLUSTER = {"max_connections": "500"}
ROLE = "ojs"
DRIFT = 0.1  # share of the waiting jobs that may be missing or too many
FEW = 100_000  # ended jobs; a store with a tenth of them counts as empty
HISTORY_DAYS = 5.0  # less than retention removes
EVENTED = 330_000  # newest ended jobs with three events each: the default bound of retention
IDS = 2_000  # of ended jobs that are read


@dataclass(frozen=True, slots=True)
class Place:
    """A server's database: filled, with its loops running."""

    stack: Stack
    dataset: Dataset
    loops: Process


@dataclass(frozen=True, slots=True)
class Rig:
    """The cluster of all series, and the processes and databases of one series."""

    cluster: Cluster
    folder: Path
    ends: ExitStack

    def place(
        self, name: str, *, finished: int = 0, available: int = 0, lanes: int = 1,
        settings: dict[str, str] | None = None,
    ) -> Place:  # fmt: skip
        """Make a database, fill it and run its loops. Raises StackError."""
        root = Database("postgres", self.cluster.sockets)
        root.run(f"CREATE DATABASE {name} OWNER {ROLE}")
        self.ends.callback(root.run, f"DROP DATABASE {name} WITH (FORCE)")
        database = Database(name, self.cluster.sockets, ROLE)
        stack = Stack(database, self.folder / name, Peaks(), settings=settings or {})
        self.ends.callback(stack.stop)
        own = Database(name, self.cluster.sockets)
        dataset = Dataset(own, finished, available, lanes, HISTORY_DAYS, EVENTED)
        stack.prepare()
        dataset.build()
        root.run("CHECKPOINT")
        return Place(stack, dataset, stack.begin_loops())

    def point(
        self, label: str, place: Place, clients: int, *, processes: int = HTTP_PROCESSES,
        more: dict[str, str] | None = None, others: Sequence[int] = (),
    ) -> Point:  # fmt: skip
        """Start an HTTP server; `others` are processes that its requests use, too."""
        port, http = place.stack.begin_server(more, processes)
        pids = [http.pid, place.loops.pid, *others]
        return self.again(label, place, clients, port, pids)

    def again(
        self, label: str, place: Place, clients: int, port: int, pids: Sequence[int]
    ) -> Point:
        """Return a point on a server that runs already."""
        name = place.dataset.database.name

        def cpu() -> usage.Seconds:
            return usage.total(
                [usage.of_database(self._postmaster(), name), *map(usage.of_server, pids)]
            )

        return Point(
            label, port, place.stack.key, clients, place.dataset, cpu,
            ready_of(place.dataset), ended_of(place.dataset),
        )  # fmt: skip

    def _postmaster(self) -> int:
        return int((self.cluster.data / "postmaster.pid").read_text().split()[0])


def ready_of(dataset: Dataset) -> Callable[[], None]:
    """Return what brings a dataset to its size: its backlog, or few ended jobs if it has none."""

    def ready() -> None:
        if dataset.available:
            drift = abs(dataset.waiting() - dataset.available) / dataset.available
        else:
            drift = 0.0 if dataset.finished else dataset.ended_jobs() / FEW
        if drift > DRIFT:
            dataset.refill(dataset.available)

    return ready


def ended_of(dataset: Dataset) -> Callable[[], Sequence[str]]:
    """Return what finds ids of ended jobs; a long history is only read once."""
    known: list[str] = []

    def ended() -> Sequence[str]:
        if not (dataset.finished and known):
            known[:] = dataset.ended(IDS)
        return known

    return ended
