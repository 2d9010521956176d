"""The permits of findings, mutes and thresholds."""

from typing import Final

from jobs.domain.access.permits import Permit, Role, Tenants
from jobs.permits import ADMIN_READ, ADMIN_WRITE

PERMITS: Final = (
    Permit(
        "attention.see", Role.VIEWER, ("ojs_jobs.view_job",), Tenants.OWN,
        api={ADMIN_READ: "listFindings getFinding"},
    ),
    Permit(
        "attention.see_rules", Role.VIEWER, ("ojs_attention.view_rulechange",), Tenants.ALL,
        api={ADMIN_READ: "listAttentionRules"},
    ),
    Permit(
        "runbooks.see", Role.VIEWER,
        ("ojs_attention.view_note", "ojs_attention.view_procedurerow"), Tenants.ALL,
        api={ADMIN_READ: "listNotes getNote listProcedures getProcedure"},
    ),
    Permit(
        "runbooks.write", Role.OPERATOR,
        ("ojs_attention.add_note", "ojs_attention.change_note"), Tenants.ALL,
        api={ADMIN_WRITE: "putNote deleteNote"},
    ),
    Permit(
        "runbooks.configure", Role.ADMIN,
        ("ojs_attention.add_procedurerow", "ojs_attention.change_procedurerow"), Tenants.ALL,
        api={ADMIN_WRITE: "putProcedure deleteProcedure"},
    ),
    Permit(
        "attention.mute", Role.OPERATOR, ("ojs_attention.add_mute",), Tenants.ALL,
        api={ADMIN_WRITE: "muteFinding unmuteFinding"},
    ),
    Permit(
        "attention.configure", Role.ADMIN, ("ojs_attention.change_rulechange",), Tenants.ALL,
        api={ADMIN_WRITE: "putAttentionRule"},
    ),
)  # fmt: skip
