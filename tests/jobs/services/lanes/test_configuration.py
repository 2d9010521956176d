"""Operations give up if the configuration version changes all the time, instead of blocking."""

from collections.abc import Callable

import pytest

from jobs import queries
from jobs.domain.dispatch.claim import LaneKey
from jobs.domain.errors import BackendUnavailable, Conflict
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.store import require_accepted
from jobs.services.lanes import configuration, lanes
from jobs.services.outcome.cancel import cancel_waiting
from tests.factories import DraftFactory, stored_ids

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture
def always_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every use of the cached configuration find that it is stale."""

    def stale(*_: object, **__: object) -> None:
        raise configuration.Stale

    monkeypatch.setattr("jobs.services.enqueue.store._store_configured", stale)
    monkeypatch.setattr("jobs.services.enqueue.store._refusals", stale)
    monkeypatch.setattr(lanes, "make", stale)


@pytest.mark.usefixtures("always_stale")
@pytest.mark.parametrize(
    "work",
    [
        lambda draft: enqueue([draft]),
        lambda draft: require_accepted([draft]),
        lambda draft: lanes.resolve([LaneKey("new", 0, draft.tenant)]),
    ],
    ids=["store", "refusals", "lanes"],
)
def test_a_configuration_that_always_changes_ends_in_503(work: Callable[..., object]) -> None:
    with pytest.raises(BackendUnavailable, match="changes faster"):
        work(DraftFactory.create())


def test_a_queue_that_is_always_deleted_ends_in_a_conflict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("jobs.queries.queues.run", lambda *_: [])

    with pytest.raises(Conflict, match="deleted again and again"):
        queries.pause("q", "test", paused=True)


def test_jobs_that_always_move_end_in_a_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = stored_ids(1)
    monkeypatch.setattr(queries, "waiting", lambda found: found)

    with pytest.raises(Conflict, match="keep moving"):
        cancel_waiting(ids, "test", None)
