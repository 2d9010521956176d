"""Timelines of attempts and steps: places and words of their bars."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta

from django.test import Client

from console.gantt import ROWS, Timeline, of_attempts, of_steps, of_stored_steps
from console.story import Attempt
from durable.domain.steps import steps_of
from jobs.domain.states import State
from tests.console.test_pages import text, url
from tests.factories import JobFactory
from tests.workflows.flows import chain, created, job, run
from workflows.domain.rows import StepRow

T0 = datetime(2026, 11, 25, 10, tzinfo=UTC)
NOW = T0 + timedelta(seconds=100)


def at(seconds: float) -> datetime:
    """Return a time after T0."""
    return T0 + timedelta(seconds=seconds)


def places(found: Timeline | None) -> list[list[tuple[str, float, float]]]:
    """Return tone, left and width of the bars of each row."""
    assert found
    return [[(bar.tone, bar.left, bar.width) for bar in line.bars] for line in found.lines]


def step(index: int, began: float | None, ended: float | None, *after: int) -> StepRow:
    """Return a step by the seconds of its beginning and end."""
    given = {
        "workflow_id": "w", "index": index, "name": f"s{index}", "type": "t", "state": 3,
        "callback": 0, "depends_on": list(after),
        "started_at": None if began is None else at(began),
        "finished_at": None if ended is None else at(ended),
    }  # fmt: skip
    return StepRow(**{one.name: given.get(one.name) for one in fields(StepRow)})  # type: ignore[arg-type]  # members that no timeline reads are None


def test_attempts_are_drawn_from_the_first_wait_to_the_last_end() -> None:
    found = of_attempts(
        [
            Attempt(3, started_at=at(80), waited_ms=None),  # runs
            Attempt(2, at(60), at(70), "w2", 20_000, 10_000, "completed"),
            Attempt(1, at(20), at(30), "w1", 20_000, 10_000, "failed"),
            Attempt(1, outcome="failed"),  # its events were removed
        ],
        NOW,
    )

    assert places(found) == [
        [("waiting", 0, 20), ("failed", 20, 10)],
        [("waiting", 40, 20), ("completed", 60, 10)],
        [("active", 80, 20)],
    ]
    assert found
    assert [line.words for line in found.lines] == [
        "waited 20 s, ran 10 s", "waited 20 s, ran 10 s", "runs for 20 s",
    ]  # fmt: skip
    assert found.ticks == [
        (0, "start"), (20, "+20 s"), (40, "+40 s"), (60, "+1 min"), (80, "+1 min 20 s"),
    ]  # fmt: skip
    assert of_attempts([Attempt(1, outcome="failed")], NOW) is None


def test_only_the_latest_attempts_are_drawn() -> None:
    many = [Attempt(n, at(n), at(n + 1), ran_ms=1000) for n in range(ROWS + 5)]

    found = of_attempts(many[::-1], NOW)

    assert found
    assert (len(found.lines), found.left_out) == (ROWS, 5)
    assert found.lines[-1].label == f"Attempt {ROWS + 4}"


def test_steps_wait_for_the_last_step_that_they_depend_on() -> None:
    steps = [
        (step(0, 0, 10), "completed"),
        (step(1, 0, 40), "completed"),
        (step(2, 50, None, 0, 1), "active"),
        (step(3, None, None, 2), "waiting"),
    ]

    found = of_steps(steps, NOW)

    assert places(found) == [
        [("completed", 0, 10)],
        [("completed", 0, 40)],
        [("waiting", 40, 10), ("active", 50, 50)],
    ]
    assert found
    assert found.lines[2].words == "waited 10 s, for 50 s until now"
    assert of_steps(steps[3:], NOW) is None


def test_a_short_bar_stays_visible_within_the_drawing() -> None:
    found = of_steps([(step(0, 0, 1000), "completed"), (step(1, 1000, 1000), "failed")], at(2000))

    ((first,), (short,)) = places(found)
    assert first == ("completed", 0, 100)
    assert short[1] + short[2] <= 100
    assert short[2] > 0


def test_the_pages_of_a_job_and_of_a_workflow_have_their_timelines(console: Client) -> None:
    dead = JobFactory.create(state=State.DISCARDED)
    flow = created(chain(job(), job()))
    assert console.get(url("workflow", flow)).context["bars"] is None
    run()

    assert "Attempts over time" in text(console, url("job", dead.id))
    assert "Attempts over time" not in text(console, url("job", JobFactory.create(queue="b").id))
    assert console.get(url("workflow", flow)).context["bars"]


def test_stored_steps_are_drawn_with_what_they_wait_for() -> None:
    record = {"state": "done", "at": at(20).isoformat()}
    state = {
        "__steps": {
            "charge": {
                **record, "ms": 10_000, "attempts": 3, "result": "x", "since": T0.isoformat(),
            },
            "label": {**record, "ms": 5_000, "attempts": 1, "result": None},
            "approved": {
                "state": "waiting", "signal": "go", "at": at(50).isoformat(),
                "until": at(160).isoformat(),
            },
            "broken": {"at": "yesterday", "ms": -1},
        },
        "__orphans": ["label"],
    }  # fmt: skip
    found = of_stored_steps(steps_of(state), NOW)

    assert places(found) == [
        [("completed", 0, 20)], [("completed", 15, 5)], [("scheduled", 50, 50)],
    ]  # fmt: skip
    assert found
    assert [line.words.replace("\xa0", " ") for line in found.lines] == [
        "took 20 s, 3 attempts, result 3 bytes",
        "took 5 s, result 4 bytes, the code no longer asks for it",
        "for 50 s until now, signal 'go', at most 1 min longer",
    ]
