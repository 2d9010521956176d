"""Configuration is written in recorded blocks only, so that each change is in the history."""

from typing import Final

import pytest
from django.apps import apps
from django.utils.module_loading import import_string

from jobs.permits import table
from jobs.services.operate.history import kinds
from tests.project.writers import Function, functions, unrecorded

# tables without configuration, by reason
STATE: Final = {
    "jobs, their records and the work of the loops": """
        ojs_archived_job ojs_awaited ojs_bulk_answer ojs_charge ojs_debt ojs_depth ojs_dispatch
        ojs_dispatch_period ojs_duration ojs_event ojs_finished ojs_fold_position ojs_hold ojs_job
        ojs_lane ojs_lane_key ojs_latency ojs_later ojs_lease ojs_limit_wait ojs_log_position
        ojs_loop ojs_period ojs_progress ojs_queue_size ojs_ready ojs_replay ojs_result_expiry
        ojs_served ojs_start ojs_tally ojs_tenant_depth ojs_tenant_label ojs_tenant_period ojs_terms
        ojs_total ojs_turn ojs_unique ojs_worker ojs_cron_run ojs_cron_turn ojs_pool_overload
        ojs_queue_watch ojs_tenant_enqueued ojs_tenant_noise ojs_tenant_survey ojs_tenant_throttle
        ojs_version_apart ojs_version_fallback ojs_version_held ojs_version_outcome
        ojs_version_reader ojs_version_redrawing ojs_version_rollback ojs_version_route
        ojs_version_run ojs_version_started ojs_version_touched ojs_version_trial
        ojs_federation_doubt ojs_federation_health ojs_federation_job ojs_federation_key
        ojs_federation_load ojs_federation_minute ojs_federation_peer ojs_federation_placement
        ojs_federation_position ojs_workflow ojs_workflow_slot ojs_workflow_step
        ojs_webhook_attempt ojs_webhook_delivery ojs_webhook_position ojs_checkpoint ojs_signal
        ojs_objective_period ojs_objective_total
        ojs_wait ojs_attention_drift ojs_attention_finding ojs_attention_look ojs_attention_sample
        """,
    "access: the audit log has each change, and a restore could give a lost right back": """
        ojs_api_key ojs_staff ojs_login_window
        """,
    "a state that operators switch for a time": "ojs_maintenance ojs_attention_mute",
    "moves of tenants between cells": "ojs_move ojs_moving_job",
    "the logs themselves, and operations": """
        ojs_audit ojs_config_change ojs_undo ojs_undo_job ojs_console_operation
        ojs_console_export_part
        """,
    "a view of a user": "ojs_console_view",
}
# functions that write a table of the configuration, but no configuration, by reason
EXEMPT: Final = {
    "jobs.queries.queues.make_queues": "a queue that a job makes copies the template",
    "jobs.queries.queues.pause": "a pause is a state",
    "jobs.queries.queues.pressure": "whether a queue is full is a state",
    "jobs.services.operate.queue_removal.delete": "marks the queue; its end is recorded",
    "jobs.queries.limits.limits": "limits of jobs belong to the jobs",
    "jobs.queries.limits.pause_limits": "a pause is a state",
    "jobs.services.upkeep.scratch.configure": "a store of a simulation",
    "jobs.services.upkeep.scratch.override": "a store of a simulation",
    "scheduling.queries.advance": "the next time of a schedule",
    "scheduling.services.cron_fire._switch_off": "a schedule that this process cannot read",
    "scheduling.services.cron_run._store_slots": "an overlap slot",
    "tenancy.queries.create": "a tenant that a job makes has the defaults",
    "tenancy.services.tenants._apply": "the copy of the settings; the change is recorded",
    **{
        f"tenancy.services.move.{name}": "the row of a move; what it changes is recorded"
        for name in ("_begin", "_advance", "_arrive", "_depart", "_turn_away", "_give_up")
    },
    "webhooks.queries.record": "results of deliveries; the server switches off what never arrives",
    "webhooks.services.subscriptions._begin_reading": "the position of the relay",
    "webhooks.services.subscriptions.rotate": "a secret",
}


@pytest.fixture(scope="module")
def found() -> dict[str, Function]:
    """Return the functions of the product."""
    tables = {name for kind in kinds().values() for name in kind.tables}
    models = {one.__name__ for one in apps.get_models() if one._meta.db_table in tables}
    return functions(models, tables)


def test_each_table_is_configuration_or_not() -> None:
    ours = {one._meta.db_table for one in apps.get_models() if one._meta.db_table[:4] == "ojs_"}
    configured = {name for kind in kinds().values() for name in kind.tables}
    others = {name for names in STATE.values() for name in names.split()}

    assert not configured & others
    assert ours - configured - others == set(), "state: add a kind, or name the reason above"
    assert others <= ours


def test_configuration_is_written_in_recorded_blocks_only(found: dict[str, Function]) -> None:
    assert unrecorded(found, set(EXEMPT)) == {}


def test_each_exempt_function_writes(found: dict[str, Function]) -> None:
    writers = {name for name, one in found.items() if one.writes}

    for name in EXEMPT:
        assert name in writers or found[name].names & writers, name


def test_the_search_finds_a_service_that_goes_around_the_history(
    found: dict[str, Function],
) -> None:
    path = found["scheduling.services.pools.put"].path
    around = {
        **found,
        "shop.put": Function("shop.put", path, names={"scheduling.services.pools._store"}),
    }

    assert unrecorded(around, set(EXEMPT)) == {"shop.put": "scheduling.services.pools._store"}


@pytest.mark.parametrize("name", sorted(kinds()))
def test_each_kind_has_a_writer_and_permits(name: str) -> None:
    kind = kinds()[name]

    assert callable(import_string(kind.write))
    assert {kind.see, kind.change, kind.permit(None)} <= table().named.keys()
