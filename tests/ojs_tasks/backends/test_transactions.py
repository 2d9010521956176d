"""Enqueues in transactions: joined by default, after the commit with ENQUEUE_ON_COMMIT."""

import pytest
from asgiref.sync import async_to_sync
from django.db import connections, transaction

from ojs_tasks.backends import TaskDropped
from tests.ojs_tasks.backends.conftest import RunTasks, tasks
from tests.ojs_tasks.backends.framework import TaskResultDoesNotExist, TaskResultStatus

pytestmark = pytest.mark.usefixtures("store")


def seen_by_others() -> int:
    """Return the number of jobs that another connection sees."""
    other = connections.create_connection("default")
    try:
        with other.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM ojs_job")
            return int(cursor.fetchone()[0])
    finally:
        other.close()


def test_an_enqueue_joins_the_transaction() -> None:
    with transaction.atomic():
        result = tasks.noop.enqueue()
        assert result.enqueued_at is not None
        assert tasks.noop.get_result(result.id) == result
        assert seen_by_others() == 0
    assert seen_by_others() == 1


@pytest.mark.parametrize("alias", ["default", "at_commit"])
def test_a_rollback_leaves_no_task(alias: str) -> None:
    chosen = tasks.noop.using(backend=alias)
    with transaction.atomic():
        result = chosen.enqueue()
        transaction.set_rollback(True)
    with pytest.raises(TaskResultDoesNotExist):
        chosen.get_result(result.id)


def test_with_enqueue_on_commit_the_commit_enqueues(run_tasks: RunTasks) -> None:
    chosen = tasks.add.using(backend="at_commit")
    with transaction.atomic():
        result = chosen.enqueue(1)
        assert (result.status, result.enqueued_at) == (TaskResultStatus.READY, None)
        with pytest.raises(TaskResultDoesNotExist):
            chosen.get_result(result.id)
    assert result.enqueued_at is not None
    run_tasks()
    result.refresh()
    assert result.return_value == 2


def test_with_enqueue_on_commit_an_enqueue_outside_is_immediate() -> None:
    result = async_to_sync(tasks.add.using(backend="at_commit").aenqueue)(1)
    assert result.enqueued_at is not None
    assert seen_by_others() == 1


def test_a_refused_enqueue_is_refused_before_the_commit() -> None:
    with transaction.atomic(), pytest.raises(TypeError):
        tasks.add.using(backend="at_commit").enqueue(object())


def test_a_dropped_task_has_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    server = type(tasks.noop.get_backend().server)
    monkeypatch.setattr(server, "enqueue", lambda _self, drafts: [None for _ in drafts])
    with pytest.raises(TaskDropped, match=r"tests.ojs_tasks.backends.tasks.noop"):
        tasks.noop.enqueue()
