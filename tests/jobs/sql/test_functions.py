"""Stored functions are installed by the content of their sources."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.migrations.state import ProjectState

from jobs import queries
from jobs.migrations import _functions

pytestmark = pytest.mark.django_db

Sources = Callable[..., None]
ONE = "CREATE OR REPLACE FUNCTION ojs_one({}) RETURNS {} LANGUAGE sql AS $$ SELECT {} $$"


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> Sources:
    """Return a function that adds sources of a release to the present sources."""
    known = _functions.sources()

    monkeypatch.setattr(_functions, "hashes", _functions.hashes.__wrapped__)

    def become(**added: str) -> None:
        monkeypatch.setattr(_functions, "sources", lambda: known | added)

    return become


def run(statement: str) -> list[Any]:
    """Return the rows of a statement, if it has any."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []


def signatures(name: str) -> list[str]:
    """Return the functions of a name, with their arguments."""
    found = run("SELECT proname, oid::regprocedure::text FROM pg_proc ORDER BY 2")
    return [signature for known, signature in found if known == name]


def install() -> list[str]:
    """Install the changed functions."""
    return queries.install_functions(connection)


def test_a_migrated_database_has_every_function() -> None:
    assert queries.outdated_functions() == []
    assert install() == []


def test_a_changed_source_replaces_the_function(sources: Sources) -> None:
    sources(ojs_one=ONE.format("", "int", "1"))
    assert install() == ["ojs_one"]
    sources(ojs_one=ONE.format("", "int", "2"))

    assert queries.outdated_functions() == ["ojs_one"]
    assert install() == ["ojs_one"]
    assert run("SELECT ojs_one()") == [(2,)]
    assert queries.outdated_functions() == []


def test_a_function_that_somebody_dropped_comes_back() -> None:
    run("DROP FUNCTION ojs_time(timestamptz)")

    assert queries.outdated_functions() == ["ojs_time"]
    assert install() == ["ojs_time"]


def test_a_changed_signature_leaves_no_other_of_the_name(sources: Sources) -> None:
    sources(ojs_one=ONE.format("a int", "int", "a"))
    install()
    sources(ojs_one=ONE.format("a int, b int DEFAULT 2", "int", "a + b"))
    install()

    assert signatures("ojs_one") == ["ojs_one(integer,integer)"]
    assert run("SELECT ojs_one(1)") == [(3,)]


@pytest.mark.parametrize("changed", [("a int", "text", "'x'"), ("b int", "int", "b")])
def test_a_changed_result_or_name_of_an_argument_is_installed(
    sources: Sources, changed: tuple[str, str, str]
) -> None:
    sources(ojs_one=ONE.format("a int", "int", "a"))
    install()
    sources(ojs_one=ONE.format(*changed))

    assert install() == ["ojs_one"]
    assert signatures("ojs_one") == ["ojs_one(integer)"]


def test_several_functions_of_one_name_become_one(sources: Sources) -> None:
    sources(ojs_one=ONE.format("a int", "int", "a"))
    install()
    run(ONE.format("a text", "text", "a"))
    run(ONE.format("a date", "date", "a"))

    assert install() == ["ojs_one"]
    assert signatures("ojs_one") == ["ojs_one(integer)"]


def test_a_function_without_a_source_goes(sources: Sources) -> None:
    sources(ojs_one=ONE.format("a int", "int", "a"))
    install()
    sources()

    assert install() == ["-ojs_one"]
    assert signatures("ojs_one") == []


def test_functions_of_other_schemas_and_of_others_stay() -> None:
    run("CREATE SCHEMA ojs_scratch_0")
    run("CREATE FUNCTION ojs_scratch_0.ojs_one() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$")
    run("CREATE FUNCTION hosts_own() RETURNS int LANGUAGE sql AS $$ SELECT 1 $$")

    assert install() == []
    assert signatures("ojs_one") == ["ojs_scratch_0.ojs_one()"]
    assert signatures("hosts_own") == ["hosts_own()"]


def test_a_source_may_name_tables_and_functions_that_come_later(sources: Sources) -> None:
    sources(ojs_one=ONE.format("", "bigint", "count(*) FROM not_there_yet WHERE ojs_two() > 0"))

    assert install() == ["ojs_one"]


def test_a_trigger_goes_on_when_its_function_changes(sources: Sources) -> None:
    kept = _functions.sources()["ojs_audit_kept"]
    sources(ojs_audit_kept=kept.replace("BEGIN", "BEGIN\n    -- changed", 1))
    run("INSERT INTO ojs_audit (actor, action, target, data) VALUES ('a', 'b', 'c', '{}')")

    assert install() == ["ojs_audit_kept"]
    with pytest.raises(DatabaseError, match="audit"), transaction.atomic():
        run("DELETE FROM ojs_audit")


def test_a_migration_installs_what_it_names_in_its_transaction(sources: Sources) -> None:
    sources(ojs_one=ONE.format("", "int", "1"), ojs_two=ONE.format("", "int", "1"))
    operation = _functions.InstallFunctions("ojs_one", "ojs_gone")
    state = ProjectState()

    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("ojs_jobs", editor, state, state)

    assert signatures("ojs_one") == ["ojs_one()"]
    assert queries.outdated_functions() == ["ojs_two"]
    assert operation.deconstruct() == ("InstallFunctions", ("ojs_one", "ojs_gone"), {})
    assert operation.describe() == "Install the functions ojs_one, ojs_gone"


# --- types ----------------------------------------------------------------------------------------

PAIR = "CREATE TYPE ojs_pair AS (a int{});"
USER = "CREATE OR REPLACE FUNCTION ojs_one(p ojs_pair) RETURNS int LANGUAGE sql AS $$ SELECT p.a $$"
READER = """
CREATE OR REPLACE FUNCTION ojs_two() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    v ojs_pair;
BEGIN
    v.a := 7;
    RETURN ojs_one(v);
END $$
"""


@pytest.fixture
def pairs(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that sets the types of a release, with functions that name them."""
    known = _functions.types()

    def become(member: str = "") -> None:
        monkeypatch.setattr(_functions, "types", lambda: known + PAIR.format(member))
        sources(ojs_one=USER, ojs_two=READER)

    return become


def test_types_are_made_before_the_functions_that_name_them(pairs: Callable[..., None]) -> None:
    pairs()
    assert set(queries.outdated_functions()) == {"ojs_types", "ojs_one", "ojs_two"}

    assert {"ojs_one", "ojs_two"} <= set(install())
    assert queries.outdated_functions() == []
    assert install() == []
    assert run("SELECT ojs_two()") == [(7,)]


def test_a_changed_type_takes_all_functions_along_that_name_it(pairs: Callable[..., None]) -> None:
    pairs()
    install()
    assert run("SELECT ojs_two()") == [(7,)]
    pairs(", b text")

    changed = install()

    assert {"ojs_one", "ojs_two"} <= set(changed)
    assert "ojs_time" not in changed
    assert run("SELECT ojs_two()") == [(7,)]
    assert run("SELECT (NULL::ojs_pair).b") == [(None,)]


def test_a_type_without_a_source_goes(pairs: Callable[..., None], sources: Sources) -> None:
    pairs()
    install()
    run("CREATE TYPE ojs_left AS (a int)")
    run("CREATE TYPE hosts_own AS (a int)")

    assert "ojs_two" in install()
    assert run("SELECT to_regtype('ojs_left'), to_regtype('hosts_own') IS NOT NULL") == [
        (None, True)
    ]


def test_a_type_that_a_table_uses_is_not_dropped(pairs: Callable[..., None]) -> None:
    pairs()
    install()
    run("CREATE TABLE hosts_own (pair ojs_pair)")
    pairs(", b text")

    with pytest.raises(DatabaseError, match="hosts_own"), transaction.atomic():
        install()


def test_a_migration_that_renews_types_leaves_no_function_out(pairs: Callable[..., None]) -> None:
    pairs()
    operation = _functions.InstallFunctions("ojs_one")
    state = ProjectState()

    with connection.schema_editor(atomic=False) as editor:
        operation.database_forwards("ojs_jobs", editor, state, state)

    assert queries.outdated_functions() == []


def test_removing_all_functions_removes_their_types() -> None:
    run("DROP TRIGGER ojs_audit_kept ON ojs_audit")
    run("DROP TRIGGER ojs_audit_kept_whole ON ojs_audit")
    run("DROP TRIGGER ojs_tell_awaited ON ojs_finished")
    run("DROP TRIGGER ojs_tell_awaited_row ON ojs_workflow")

    with connection.schema_editor(atomic=False) as editor:
        _functions.remove(None, editor)

    assert run("SELECT count(*) FROM pg_proc WHERE proname = 'ojs_time'") == [(0,)]
    assert run("SELECT to_regtype('ojs_pick')") == [(None,)]
