"""The directives that a worker process follows."""

import threading

import pytest

from jobs.services.workers.heartbeat import Standing
from ojs_tasks.worker.directives import Directives
from ojs_tasks.worker.waits import Waits

RUNNING, QUIET, TERMINATE = Standing


@pytest.fixture
def waits() -> Waits:
    """Return the waits of a process without threads."""
    return Waits()


@pytest.fixture
def directives(waits: Waits) -> Directives:
    """Return the directives of a process that has begun."""
    return Directives(waits)


def test_a_quiet_worker_resumes_and_reports_both_at_once(
    directives: Directives, waits: Waits
) -> None:
    directives.quiet()
    assert (directives.standing, directives.own) == (QUIET, QUIET)
    assert waits.beat.is_set()
    waits.beat.clear()

    directives.resume()

    assert (directives.standing, directives.own) == (RUNNING, RUNNING)
    assert waits.beat.is_set()


def test_a_signal_does_not_resume_a_worker_that_an_operator_made_quiet(
    directives: Directives,
) -> None:
    directives.obey(QUIET)
    directives.quiet()

    directives.resume()

    assert (directives.standing, directives.own) == (QUIET, RUNNING)


def test_an_operator_resumes_a_worker_that_no_signal_made_quiet(directives: Directives) -> None:
    directives.obey(QUIET)

    directives.obey(RUNNING)

    assert directives.standing is RUNNING


@pytest.mark.parametrize("later", ["quiet", "resume"])
def test_termination_stands(directives: Directives, waits: Waits, later: str) -> None:
    directives.obey(TERMINATE)
    assert directives.is_ending
    assert waits.main.is_set()

    getattr(directives, later)()
    directives.obey(RUNNING)

    assert (directives.standing, directives.own) == (TERMINATE, TERMINATE)


def test_a_process_that_must_leave_ends_and_still_reports_that_it_runs(
    directives: Directives, waits: Waits
) -> None:
    directives.leave()

    assert directives.is_ending
    assert directives.must_leave
    assert directives.own is RUNNING
    assert waits.main.is_set()


def test_the_first_heartbeat_makes_the_worker_known_and_wakes_the_claims(
    directives: Directives, waits: Waits
) -> None:
    assert not directives.is_registered

    directives.obey_heartbeat(RUNNING)

    assert directives.is_registered
    assert waits.main.is_set()
    waits.main.clear()
    directives.obey_heartbeat(RUNNING)
    assert not waits.main.is_set()


def test_a_directive_is_announced_once(directives: Directives, waits: Waits) -> None:
    directives.obey(QUIET)
    waits.main.clear()

    directives.obey(QUIET)

    assert not waits.main.is_set()


@pytest.mark.parametrize("verb", ["quiet", "terminate", "leave"])
def test_claimed_jobs_are_held_only_before_a_directive(directives: Directives, verb: str) -> None:
    held: list[str] = []
    assert directives.hold(lambda: held.append("before"))

    getattr(directives, verb)()

    assert not directives.hold(lambda: held.append("after"))
    assert held == ["before"]


def test_a_signal_waits_until_the_claimed_jobs_are_held(directives: Directives) -> None:
    held: list[Standing] = []

    def take() -> None:
        signal.start()
        signal.join(0.05)
        held.append(directives.own)

    signal = threading.Thread(target=directives.quiet)
    assert directives.hold(take)
    signal.join()

    assert (held, directives.own) == ([RUNNING], QUIET)


def test_only_an_operator_dismisses_a_worker(directives: Directives) -> None:
    directives.quiet()
    directives.obey(TERMINATE)
    assert directives.is_dismissed


def test_the_answer_to_a_reported_end_dismisses_nobody(directives: Directives) -> None:
    directives.terminate()
    directives.obey(TERMINATE)
    assert not directives.is_dismissed
