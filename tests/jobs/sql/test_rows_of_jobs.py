"""Every table with the id of a job says what a removal and a move do with its rows."""

import re
from typing import Final

from django.db import connection

from tests.conftest import ROOT

# a removal of an ended job deletes these, and a move takes them into the new cell
OF_THE_JOB: Final = {
    "ojs_job", "ojs_finished", "ojs_progress", "ojs_unique", "ojs_replay", "ojs_result_expiry",
}  # fmt: skip
OF_A_WAITING_JOB: Final = {"ojs_ready", "ojs_later"}  # a move takes them, too
WATCHED = "only jobs that an extension follows have them: they are not moved, its hook removes them"
STAY: Final = {
    "ojs_lease": "of active jobs, which are neither removed nor moved",
    "ojs_hold": "of active jobs, which are neither removed nor moved",
    "ojs_event": "the record of what happened in this cell",
    "ojs_archived_job": "the copy of a removed job",
    "ojs_undo_job": "the record of an operation in this cell",
    "ojs_moving_job": "the list of a move",
    "ojs_checkpoint": WATCHED,
    "ojs_awaited": WATCHED,
    "ojs_wait": WATCHED,
    "ojs_signal": "its hooks refuse the move, and remove them with the job",
    "ojs_workflow": WATCHED,
    "ojs_workflow_step": WATCHED,
    "ojs_cron_run": "of a schedule of this cell",
    "ojs_cron_entry": "of a schedule of this cell",
    "ojs_cron_turn": "of a schedule of this cell",
    "ojs_version_touched": "of a removal of a version in this cell",
    "ojs_federation_job": "the place of the job among regions, which its retention removes",
    "ojs_federation_key": "of an enqueue in this region, which its retention removes",
    "ojs_federation_doubt": "of an enqueue in this region, which an operator ends",
}  # fmt: skip
# uuids that are no id of a job, by table
OTHER: Final = {
    "ojs_attention_finding", "ojs_federation_placement", "ojs_move", "ojs_version_apart",
    "ojs_version_redrawing", "ojs_workflow_slot",
}  # fmt: skip


def tables(verb: str, path: str) -> set[str]:
    """Return the tables from which a statement of `jobs` deletes, or into which it inserts."""
    text = (ROOT / "jobs" / "sql" / f"{path}.sql").read_text()
    return set(re.findall(rf"{verb} (ojs_\w+)", text))


def test_every_table_with_ids_is_named_here(store: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT table_name FROM information_schema.columns"
            " WHERE table_schema = current_schema() AND data_type = 'uuid'"
        )
        found = {name for (name,) in cursor}

    assert found == OF_THE_JOB | OF_A_WAITING_JOB | STAY.keys() | OTHER


def test_a_removal_deletes_all_rows_of_the_job() -> None:
    assert tables("DELETE FROM", "outcome/remove") == OF_THE_JOB


def test_a_move_takes_all_rows_of_the_job_into_the_new_cell() -> None:
    taken = OF_THE_JOB | OF_A_WAITING_JOB

    assert tables("DELETE FROM", "cells/moving_pack") == taken | {"ojs_moving_job"}
    assert tables("INSERT INTO", "cells/moving_store") == taken | {"ojs_event"}
