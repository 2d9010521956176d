"""The base of the handles of jobs and workflows: their identity, and the latest look."""

from typing import Generic, Protocol, TypeVar

from ojs_tasks.foreign_names import Results


class Shown(Protocol):
    """A job or a workflow as the server last showed it."""

    @property
    def id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def state(self) -> str: ...


S = TypeVar("S", bound=Shown)


class Handle(Results, Generic[S]):
    """What the server last showed of something that has an id.

    Handles are equal if they are of the same kind and have the same id, whatever they show.
    """

    __slots__ = ("_snapshot",)

    def __init__(self, snapshot: S) -> None:
        """Begin with the state that the server showed."""
        self._snapshot = snapshot

    def __repr__(self) -> str:
        """Return class, type, id and state."""
        return f"<{type(self).__name__} {self.type} {self.id} {self.state}>"

    def __eq__(self, other: object) -> bool:
        """Return whether both are handles of the same job or workflow."""
        return (
            isinstance(other, Handle)
            and type(other._snapshot) is type(self._snapshot)
            and other.id == self.id
        )

    def __hash__(self) -> int:
        """Return a hash of the id."""
        return hash(self.id)

    @property
    def id(self) -> str:
        """The id of the job or workflow."""
        return self._snapshot.id

    @property
    def type(self) -> str:
        """The type of the job; the kind of the workflow: chain, group or batch."""
        return self._snapshot.type

    @property
    def state(self) -> str:
        """The state's name: of a job such as `available`, of a workflow such as `running`."""
        return self._snapshot.state
