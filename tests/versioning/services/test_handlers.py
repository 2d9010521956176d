"""Python handlers of versions, and versions of jobs that the server makes.

Spec: job-versioning 15.3; D-VER-11.
"""

from typing import Any

import pytest

from jobs import extensions
from jobs.domain.errors import OJSError
from jobs.domain.states import State
from jobs.models import Job
from jobs.worker.declaration import declaration
from ojs_tasks import job, registry
from ojs_tasks.testing import make_due as make_jobs_due
from ojs_tasks.testing import run_available
from scheduling.services.cron_fire import fire
from tests.scheduling.conftest import make_due, registered
from tests.spec import spec
from tests.tenancy.wire import answer, send
from tests.versioning.wire import TYPE, fetched, versions_of
from tests.workflows.flows import chain, created
from tests.workflows.flows import job as step
from versioning.domain.declaration import handles

pytestmark = pytest.mark.usefixtures("store")


@pytest.fixture(autouse=True)
def no_handlers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove all registered handlers for the test."""
    monkeypatch.setattr(registry, "_handlers", {})


@spec("VER-8.2-a")
def test_jobs_go_to_the_handler_of_their_version() -> None:
    @job(TYPE, versions=">=1.0 <2.0")
    def first(number: int) -> str:
        return "first"

    @job(TYPE, versions=">=2.0 <3.0", version="2.0")
    def second(number: int) -> str:
        return "second"

    first.options(version="1.5").enqueue(1)
    second.enqueue(2)
    first.enqueue(3)  # without a version: to the handler of the latest
    first.options(version="3.0").enqueue(4)  # no handler accepts it

    found = sorted(str(run.result) for run in run_available())

    assert found == ["first", "second", "second"]
    (left,) = Job.objects.filter(state=None)
    assert left.version == '"3.0"'


def test_a_version_that_no_handler_takes_is_held_instead_of_failing() -> None:
    @job(TYPE, versions="1.0")
    def only(number: int) -> None: ...

    only.options(version=2).enqueue(1)

    assert run_available() == []


def test_a_worker_declares_what_its_handlers_take() -> None:
    assert declaration() is None

    @job("any.version")
    def anything() -> None: ...

    assert declaration() is None

    @job(TYPE, versions=">=2.0")
    def second() -> None: ...

    declared = declaration()
    assert declared is not None
    assert set(handles(declared).ranges) == {TYPE}
    assert handles(declared).is_exclusive is False


def test_without_the_extension_nothing_is_declared(settings: Any) -> None:
    settings.OJS = {**settings.OJS, "EXTENSIONS": ()}

    assert extensions.read_declaration([{"type": TYPE}], is_exclusive=False) is None


@pytest.mark.parametrize(
    ("one", "other"), [(None, None), (None, "1.0"), (">=1.0 <3.0", ">=2.0"), ("1.0", "1")]
)
def test_handlers_of_a_type_may_not_take_the_same_version(
    one: str | None, other: str | None
) -> None:
    @job(TYPE, versions=one)
    def first() -> None: ...

    with pytest.raises(ValueError, match="has a handler already"):

        @job(TYPE, versions=other)
        def second() -> None: ...


def test_a_range_that_is_wrong_fails_at_import() -> None:
    with pytest.raises(ValueError, match="constraint"):
        job(TYPE, versions="^1.0")


@spec("VER-15.3-a")
def test_each_step_of_a_workflow_has_a_version_of_its_own() -> None:
    created(chain(step(TYPE, version="1.0"), step(TYPE, version=2), step(f"{TYPE}@3.0")))
    ranges = {"1.0": "<2.0", 2: ">=2.0 <3.0", "3.0": "3.0"}

    for version, own in ranges.items():
        for other in set(ranges.values()) - {own}:
            assert fetched(handlers=[{"type": TYPE, "versions": other}]) == []
        (found,) = fetched(handlers=[{"type": TYPE, "versions": own}])
        assert found["version"] == version
        answer(send("POST", "workers/ack", {"job_id": found["id"], "result": {"of": version}}))


@spec("D-VER-10")
def test_a_step_without_a_version_stays_without_one() -> None:
    created(chain(step(TYPE), step(TYPE, version="2.0")))

    assert versions_of(fetched()) == [None]


@spec("D-VER-11")
def test_schedules_carry_versions() -> None:
    registered("field", type=TYPE, options={"version": "2.0"})
    registered("suffix", type=f"{TYPE}@3.0")
    make_due()
    fire()

    assert fetched(handlers=[{"type": TYPE, "versions": "1.0"}]) == []
    found = fetched(handlers=[{"type": TYPE, "versions": ">=2.0"}])
    assert sorted(versions_of(found)) == ["2.0", "3.0"]
    assert {one["type"] for one in found} == {TYPE}


@pytest.mark.parametrize("body", [{"type": f"{TYPE}@x"}, {"options": {"version": "x"}}])
@spec("D-VER-11")
def test_schedules_with_a_wrong_version_are_refused(body: dict[str, Any]) -> None:
    with pytest.raises(OJSError):
        registered("wrong", **body)


@spec("VER-8.2-a")
def test_a_retry_keeps_the_version_and_its_route() -> None:
    @job(TYPE, versions="1.0", retry={"max_attempts": 2, "initial_interval": "PT1H"})
    def fails() -> None:
        raise RuntimeError

    stored = fails.options(version="1.0").enqueue()
    assert stored is not None
    (run,) = run_available(raises=False)
    assert run.state is State.RETRYABLE
    make_jobs_due()

    assert fetched(handlers=[{"type": TYPE, "versions": "2.0"}]) == []
    assert versions_of(fetched(handlers=[{"type": TYPE, "versions": "1.0"}])) == ["1.0"]
