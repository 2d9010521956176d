"""List the steps of an enqueue and the wrappers of a handler. Spec: contract 12.1, 12.2, 24.7."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Concatenate

from jobs import middleware
from jobs.extensions import EnqueueHooks, implementers

Hook = Callable[Concatenate[EnqueueHooks, ...], object]


@dataclass(frozen=True, slots=True)
class Station:
    """One step; `origin` is the server, configured middleware or an extension."""

    name: str
    origin: str  # "server", "middleware" or "extension"
    description: str


ARRIVAL = (
    Station("request-id", "server", "Give the request its id."),
    Station("auth", "server", "Check the key, its scopes, queues and types, and its tenant."),
    Station("envelope-validation", "server", "Check the members of the job."),
)
UNIQUE = Station("unique", "server", "Check the fingerprint of a job that has a policy.")
INSERT = Station("insert", "server", "Store the job and record its event.")


def enqueue_stations() -> list[Station]:
    """Return the steps that a job passes at enqueue, in order.

    The list leaves out checks that the server always makes: repeated requests, schemas, versions
    and the bounds of queues.
    """
    return [
        *ARRIVAL,
        *_links(middleware.enqueue_chain()),
        *_hooks(EnqueueHooks.prepare, "Change, drop or refuse one job."),
        UNIQUE,
        *_hooks(EnqueueHooks.admit, "Hold jobs to limits."),
        INSERT,
    ]


def execution_stations() -> list[Station]:
    """Return the wrappers of a handler, from outside in."""
    handler = Station("handler", "server", "Run the handler of the job's type.")
    return [*_links(middleware.execution_chain()), handler]


def _links(chain: Iterable[middleware.Link]) -> Iterator[Station]:
    for link in chain:
        is_own = link.wrapper is middleware.ojs_validate
        yield Station(link.name, "server" if is_own else "middleware", link.description)


def _hooks(hook: Hook, description: str) -> Iterator[Station]:
    for extension in implementers(hook):
        kind = type(extension)
        name = f"{kind.__module__}.{kind.__qualname__}.{hook.__name__}"
        yield Station(name, "extension", description)
