"""The server that this process enqueues to: the local one, or one at a distance.

`OJS["SERVER"]`, or else the `HTTPBackend` of a project without the server's apps, names a server to
reach over HTTP. Without both the host has the server's apps, and
`ojs_tasks.local` stores jobs in its database. Both have the methods of the protocol `Server`.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from importlib import import_module
from typing import Any, Final, Protocol, TypeAlias

from ojs_tasks.configured import APPS, settings_for, settings_of
from ojs_tasks.exceptions import NoServer
from ojs_tasks.flows import WorkflowSnapshot

LOCAL: Final = "ojs_tasks.local.server"  # has LocalServer()
LOCAL_CHECK: Final = "ojs_tasks.local.check"  # has check(draft)
LOCAL_SCHEDULES: Final = "ojs_tasks.local.check_schedules"  # has check_schedule(body)
REMOTE: Final = "ojs_tasks.remote.server"  # has RemoteServer(settings)
CODED: Final = "ojs_tasks.codecs.server"  # has CodedServer(server, coding)
CODING: Final = "ojs_tasks.codecs.configured"  # has coding()
REMOTE_SETTINGS: Final = "ojs_tasks.remote.settings"

Draft: TypeAlias = Mapping[str, Any]  # an envelope as PUSH takes it

ENDED: Final = frozenset({"completed", "cancelled", "discarded"})


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A job as the server last showed it; `state` is the name of one of the eight states."""

    id: str
    type: str
    queue: str
    state: str
    attempt: int = 0
    max_attempts: int = 0
    result: Any = None
    error: dict[str, Any] | None = None  # the latest one
    errors: Sequence[dict[str, Any]] = ()  # oldest first, at most 25
    progress: float | None = None  # from 0 to 1
    progress_message: str | None = None
    progress_data: Any = None
    meta: Mapping[str, Any] = field(default_factory=dict)
    args: Sequence[Any] = ()
    priority: int = 0
    created_at: datetime | None = None
    scheduled_at: datetime | None = None
    started_at: datetime | None = None  # of the latest attempt
    finished_at: datetime | None = None
    worker_id: str | None = None  # of the running attempt
    deduplicated: bool = False  # the job that a unique policy found, instead of a new one

    @property
    def has_ended(self) -> bool:
        """Whether the job can no longer run by itself."""
        return self.state in ENDED


@dataclass(frozen=True, slots=True)
class Reconciled:
    """Names of schedules after a reconciliation; `refused` maps names to the reasons."""

    added: Sequence[str] = ()
    changed: Sequence[str] = ()
    removed: Sequence[str] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


class Server(Protocol):
    """What a server can do for producers. Errors of the server pass through unchanged.

    The methods with `a` are for the event loop, and never block it.
    """

    def enqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs, all or none, in order; None for a job that middleware dropped."""

    async def aenqueue(self, drafts: Sequence[Draft]) -> list[Snapshot | None]:
        """Store jobs as `enqueue` does."""

    def read(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""

    async def aread(self, job_id: str) -> Snapshot:
        """Return the present state of a job. Raises JobNotFound."""

    def wait(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end. None: wait for any time.

        Raises ResultTimeout, JobNotFound, or UncommittedJob.
        """

    async def await_end(self, job_id: str, timeout_s: float | None) -> Snapshot:
        """Return a job after its end, as `wait` does."""

    def cancel(self, job_id: str) -> Snapshot:
        """Cancel a job that has not ended. Raises JobNotFound, or the server's refusal."""

    async def acancel(self, job_id: str) -> Snapshot:
        """Cancel a job as `cancel` does."""

    def signal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal to a job. Raises JobNotFound, or the server's refusal."""

    async def asignal(self, job_id: str, name: str, payload: Any) -> None:
        """Send a signal as `signal` does."""

    def start_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow and the jobs of its first steps. Raises the server's refusal."""

    async def astart_workflow(self, body: Draft) -> WorkflowSnapshot:
        """Store a workflow as `start_workflow` does."""

    def read_workflow(self, workflow_id: str, *, with_results: bool = False) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""

    async def aread_workflow(
        self, workflow_id: str, *, with_results: bool = False
    ) -> WorkflowSnapshot:
        """Return the present state of a workflow. Raises WorkflowNotFound."""

    def wait_workflow(self, workflow_id: str, timeout_s: float | None) -> WorkflowSnapshot:
        """Return a workflow after its end, with results. None: wait for any time.

        Raises ResultTimeout, WorkflowNotFound, or UncommittedJob.
        """

    async def await_workflow_end(
        self, workflow_id: str, timeout_s: float | None
    ) -> WorkflowSnapshot:
        """Return a workflow after its end, as `wait_workflow` does."""

    def cancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow that has not ended. Raises WorkflowNotFound, or the refusal."""

    async def acancel_workflow(self, workflow_id: str) -> WorkflowSnapshot:
        """Cancel a workflow as `cancel_workflow` does."""

    def reconcile_schedules(self, owner: str, bodies: Sequence[Draft]) -> Reconciled:
        """Make the schedules of a project these; bodies are those of POST /ojs/v1/cron.

        A schedule that an operator paused stays paused. Schedules without this owner stay.
        """


_chosen: Server | None = None  # by `use`
_stand_in: tuple[Server, bool] | None = None  # of a test, and whether it is in this database
_made: dict[str, Server] = {}  # by the value of the setting SERVER, "" for the local one


def use(chosen: Server | None) -> None:
    """Use this server from now on, for a process without Django settings; None: the setting's."""
    global _chosen  # noqa: PLW0603 - one server per process
    _chosen = chosen


@contextmanager
def standing_in(stand_in: Server, *, is_local: bool) -> Iterator[None]:
    """Use a server of a test in the place of every other one within the context.

    `is_local`: it stores jobs in the database of this process.
    """
    global _stand_in  # noqa: PLW0603 - one server per process
    before = _stand_in
    _stand_in = stand_in, is_local
    try:
        yield
    finally:
        _stand_in = before


def stand_in(*, remote: bool) -> Server | None:
    """Return the server of a test that takes the place of a local, or remote, one; or None."""
    if _stand_in is None or (remote and _stand_in[1]):
        return None  # other servers than that of the database are out of its reach
    return _stand_in[0]


def server() -> Server:
    """Return the server of this process. Raises NoServer if there is none."""
    if _stand_in is not None:
        return _stand_in[0]
    if _chosen is not None:
        return _chosen
    options = settings()
    address = str(options.get("SERVER") or "")
    if address not in _made:
        _made[address] = with_codecs(_remote(options) if address else _local())
    return _made[address]


def with_codecs(made: Server) -> Server:
    """Return a server that encodes jobs before this one stores them, if the project has codecs."""
    if not settings().get("CODECS"):
        return made
    coded: Server = import_module(CODED).CodedServer(made, import_module(CODING).coding())
    return coded


def settings() -> Mapping[str, Any]:
    """Return the setting `OJS`; empty without it, or without Django settings."""
    return settings_of(_django())


def settings_of_server(address: str) -> Mapping[str, Any]:
    """Return the settings for requests to the server at this address."""
    return settings_for(address, _django())


def is_local() -> bool:
    """Return whether this process has the server's apps and stores jobs itself."""
    if _stand_in is not None:
        return _stand_in[1]
    return (
        _chosen is None
        and not settings().get("SERVER")
        and not APPS.isdisjoint(getattr(_django(), "INSTALLED_APPS", ()))
    )


def is_debug() -> bool:
    """Return whether the settings of this process are those of a developer."""
    return bool(getattr(_django(), "DEBUG", False))


def check(draft: Draft) -> None:
    """Check an envelope before any job has it, where the server's rules are in this process.

    Raises the server's refusal.
    """
    if is_local():
        import_module(LOCAL_CHECK).check(draft)


def check_schedule(body: Draft) -> None:
    """Check a schedule in code, where the server's rules are in this process.

    Raises the server's refusal, or NoServer if the package `scheduling` is that of the project.
    """
    if not is_local():
        return
    try:
        rules = import_module(LOCAL_SCHEDULES)
    except ModuleNotFoundError as problem:
        raise NoServer(
            f"schedules need the app 'scheduling' of the server: {problem}; see `manage.py check`"
        ) from None
    rules.check_schedule(body)


def project() -> str:
    """Return the name of this project, the owner of its schedules.

    It is `OJS["PROJECT"]`, else the package of ROOT_URLCONF. Raises NoServer without both.
    """
    root = str(getattr(_django(), "ROOT_URLCONF", None) or "").partition(".")[0]
    found = str(settings().get("PROJECT") or root)
    if not found:
        raise NoServer("schedules in code need a name of their project: set OJS['PROJECT']")
    return found


def _django() -> Any:
    """Return Django's settings; None without Django, or if the process has not configured it."""
    try:
        from django.conf import settings  # noqa: PLC0415 - optional
        from django.core.exceptions import ImproperlyConfigured  # noqa: PLC0415
    except ImportError:
        return None
    try:
        return settings if settings.INSTALLED_APPS else None
    except ImproperlyConfigured:
        return None


def _local() -> Server:
    if not is_local():
        raise NoServer(
            "no server for jobs: set OJS['SERVER'] to its address, or install the app 'jobs'"
        )
    made: Server = import_module(LOCAL).LocalServer()
    return made


def _remote(options: Mapping[str, Any]) -> Server:
    made: Server = import_module(REMOTE).RemoteServer(options)
    return made
