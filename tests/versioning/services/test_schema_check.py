"""Validation of arguments at the enqueue. Spec: job-versioning 6.2, contract 30.4."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.domain.access.caller import Caller
from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from jobs.models import Job
from jobs.services.enqueue.enqueue import enqueue
from jobs.services.enqueue.enqueue_each import enqueue_each
from jobs.services.enqueue.store import require_accepted
from jobs.services.lanes import configuration
from jobs.services.upkeep.reset import clear_caches
from scheduling.domain.definition import Definition
from scheduling.services import cron_register
from tests.factories import DraftFactory
from tests.spec import spec
from versioning.domain.schema import Mode
from versioning.domain.schema_errors import ArgsRefused
from versioning.domain.schema_version import parse_key
from versioning.models import Schema
from versioning.services import schema_cache, schemas
from versioning.services.schemas import Registration, register
from workflows.domain.request import parse_workflow
from workflows.services.start import start

pytestmark = pytest.mark.usefixtures("store")

TEXTS = {"type": "array", "items": {"type": "string"}}
WHOLES = {"type": "array", "items": {"type": "integer"}}


def made(document: Any = TEXTS, version: str = "1.0", **more: Any) -> Registration:
    """Return a registration."""
    facts = {"type": "a.b", "mode": Mode.STRICT, "replaces": True, **more}
    return Registration(version=version, document=document, **facts)


def draft(*args: Any, version: str | None = "1.0", **members: Any) -> JobDraft:
    """Return a job of a version."""
    return replace(DraftFactory.create(type="a.b", args=list(args), **members), version=version)


def other_type() -> JobDraft:
    """Return a job of another type."""
    return replace(DraftFactory.create(type="c.d", args=["x"]), version="1.0")


def statements(work: Callable[[], object]) -> list[str]:
    """Return the statements that were sent to the database."""
    with CaptureQueriesContext(connection) as found:
        work()
    return [query["sql"] for query in found.captured_queries]


@spec("VER-6.2-a")
def test_arguments_that_do_not_fit_are_rejected() -> None:
    register(made())

    with pytest.raises(ArgsRefused) as refused:
        enqueue([draft("x", 3)])

    assert (refused.value.code, refused.value.status) == ("validation_error", 422)
    assert not refused.value.retryable
    assert refused.value.details["validation_errors"] == ["/1: must be of type string"]
    assert "index" not in refused.value.details
    assert not Job.objects.exists()
    assert enqueue([draft("x", "y")])[0]


@pytest.mark.parametrize("version", ["1", "1.0", "1.0.0", "1.0.7"])
@spec("VER-6.2-a")
def test_versions_are_compared_not_their_spelling(version: str) -> None:
    register(made())

    with pytest.raises(ArgsRefused):
        enqueue([draft(1, version=version)])


@spec("contract 30.4")
def test_patches_choose_their_own_schema_else_the_latest() -> None:
    register(made(TEXTS, "1.0.0"))
    register(made(WHOLES, "1.0.2"))

    assert enqueue([draft(1, version="1.0.2"), draft(1, version="1.0.1"), draft("x")])
    with pytest.raises(ArgsRefused):
        enqueue([draft(1, version="1.0.0")])


@spec("contract 30.4")
def test_jobs_without_version_or_schema_pass() -> None:
    register(made())

    assert enqueue([draft(1, version=None), draft(1, version="1.1"), draft(1, version="2.0")])
    assert enqueue([replace(DraftFactory.create(type="c.d", args=[1]), version="1.0")])


@spec("contract 30.4")
def test_setting_lets_jobs_without_version_fit_the_latest(settings: Any) -> None:
    register(made(TEXTS))
    register(made(WHOLES, "2.0"))
    settings.OJS_VERSIONING = {**settings.OJS_VERSIONING, "SCHEMA_VALIDATE_UNVERSIONED": "latest"}

    assert enqueue([draft(1, version=None)])
    with pytest.raises(ArgsRefused):
        enqueue([draft("x", version=None)])


@spec("contract 30.4")
def test_warnings_are_told_and_the_job_is_taken(caplog: pytest.LogCaptureFixture) -> None:
    register(made(mode=Mode.WARN))

    job = enqueue([draft("x", 3)])[0]

    assert job is not None
    assert list(job.warnings) == ["/1: must be of type string"]
    assert "schema.not_met" in caplog.text
    assert enqueue([draft("x")])[0].warnings == ()  # type: ignore[union-attr]  # it was accepted


@spec("contract 30.4")
def test_off_checks_nothing() -> None:
    register(made(mode=Mode.OFF))

    assert enqueue([draft(3)])[0].warnings == ()  # type: ignore[union-attr]  # it was accepted


@pytest.mark.parametrize(
    ("setting", "is_refused", "warnings"),
    [("strict", True, 0), ("warn", False, 1), ("off", False, 0)],
)
@spec("contract 30.4")
def test_setting_overrides_all_schemas(
    setting: str, is_refused: bool, warnings: int, settings: Any
) -> None:
    register(made(mode=Mode.OFF if is_refused else Mode.STRICT))
    settings.OJS_VERSIONING = {**settings.OJS_VERSIONING, "SCHEMA_VALIDATION": setting}

    try:
        job = enqueue([draft(3)])[0]
    except ArgsRefused:
        assert is_refused
    else:
        assert job is not None
        assert not is_refused
        assert len(job.warnings) == warnings


@spec("contract 30.4")
def test_batch_is_refused_as_a_whole_with_each_error() -> None:
    register(made())

    with pytest.raises(ArgsRefused) as refused:
        enqueue([draft("x"), draft(1), draft("y"), draft(2, 3)])

    details = refused.value.details
    assert details["index"] == 1
    assert [(one["index"], one["validation_errors"]) for one in details["errors"]] == [
        (1, ["/0: must be of type string"]),
        (3, ["/0: must be of type string", "/1: must be of type string"]),
    ]
    assert not Job.objects.exists()


@spec("contract 30.4")
def test_bulk_stores_those_that_fit() -> None:
    register(made())

    found = enqueue_each([draft("x"), draft(1), draft("y")])

    assert [isinstance(one, OJSError) for one in found] == [False, True, False]
    assert Job.objects.count() == 2


@spec("contract 30.4")
def test_uniqueness_does_not_excuse_arguments() -> None:
    register(made())

    with pytest.raises(ArgsRefused):
        enqueue([draft(1, unique={"keys": ["type"], "on_conflict": "ignore"})])


# --- processes ---


def elsewhere(change: Callable[[], object]) -> None:
    """Make a change as in another process: the cache of this process stays."""
    known = configuration.cache.latest, schema_cache.cache.latest
    change()
    clear_caches()
    configuration.cache.latest, schema_cache.cache.latest = known


@spec("contract 30.4")
def test_schema_registered_elsewhere_counts_for_the_next_job() -> None:
    enqueue([draft(1)])
    elsewhere(lambda: register(made()))

    with pytest.raises(ArgsRefused):
        enqueue([draft(1)])


@spec("contract 30.4")
def test_schema_changed_or_deleted_elsewhere_counts_for_the_next_job() -> None:
    register(made())
    enqueue([draft("x")])
    elsewhere(lambda: register(made(WHOLES)))

    assert enqueue([draft(1)])
    with pytest.raises(ArgsRefused):
        enqueue([draft("x")])
    elsewhere(lambda: schemas.delete(schemas.versions("a.b")))
    assert enqueue([draft("x")])


@spec("contract 30.4")
def test_known_types_cost_no_statement() -> None:
    register(made())
    enqueue([draft("x"), draft("y", version="7")])

    assert len(statements(lambda: enqueue([draft("x"), draft("y", version="7")]))) == 1


@spec("contract 30.4")
def test_new_types_cost_one_statement_and_a_document_one() -> None:
    register(made())
    register(made(type="c.d"))
    enqueue([draft("x"), other_type()])  # a new version raises the configuration version
    schema_cache.cache.clear()
    schema_cache.compiled.cache_clear()

    found = statements(lambda: enqueue([draft("x"), other_type()]))

    assert sum("ojs_schema" in one for one in found) == 2


@spec("contract 30.4")
def test_change_of_terms_compiles_nothing_anew() -> None:
    register(made())
    enqueue([draft("x")])
    configuration.change()

    found = statements(lambda: enqueue([draft("x")]))

    assert sum('"document"' in one for one in found) == 0


@spec("contract 30.4")
def test_jobs_without_versions_cost_nothing() -> None:
    register(made())
    enqueue([draft("x", version=None)])
    schema_cache.cache.clear()

    assert len(statements(lambda: enqueue([draft("x", version=None)]))) == 1


@spec("contract 30.4")
def test_ten_thousand_schemas_are_read_as_they_are_met() -> None:
    document, digest = '{"type":"array"}', schemas.digest({"type": "array"})
    Schema.objects.bulk_create(
        (Schema(
            type=f"many.t{chr(97 + n // 1000)}{n % 1000}", version="1.0", document=document,
            digest=digest, target="args", mode="strict", **parse_key("1.0")._asdict(),
        )
        for n in range(10_000)
        ), batch_size=1_000,
    )  # fmt: skip
    configuration.change()

    found = statements(lambda: enqueue([draft("x")]))

    assert sum("ojs_schema" in one for one in found) == 1
    assert len(schema_cache.cache.current().by_type) == 1
    rows, total = schemas.page(containing="", limit=50, offset=9_990)
    assert (len(rows), total) == (10, 10_000)


# --- jobs that the server enqueues later ---


@spec("contract 30.4")
def test_steps_are_checked_when_the_workflow_is_created(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(made())
    plan = parse_workflow(
        {"type": "chain", "steps": [{"type": "a.b", "args": ["x"]}, {"type": "a.b", "args": [1]}]},
        lambda raw: replace(DraftFactory.create(**raw), version="1.0"),
    )

    with pytest.raises(ArgsRefused) as refused:
        start(plan)

    assert refused.value.details["index"] == 1
    assert not Job.objects.exists()


@spec("contract 30.4")
def test_schedules_are_checked_when_they_are_registered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    register(made())
    template = {"type": "a.b", "args": [1], "meta": {}}
    definition = Definition("every", "0 * * * *", template=template)
    wrong = draft(1)
    monkeypatch.setattr(Definition, "check", lambda *_: wrong)

    with pytest.raises(ArgsRefused) as refused:
        cron_register.register(definition, Caller("tests"), lambda _queue, _kind: None)

    assert "index" not in refused.value.details


@spec("contract 30.4")
def test_drafts_are_checked_without_being_stored() -> None:
    register(made())

    require_accepted([draft("x")])
    with pytest.raises(ArgsRefused):
        require_accepted([draft("x"), draft(1)])
    assert not Job.objects.exists()
