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
        "attention.mute", Role.OPERATOR, ("ojs_attention.add_mute",), Tenants.ALL,
        api={ADMIN_WRITE: "muteFinding unmuteFinding"},
    ),
    Permit(
        "attention.configure", Role.ADMIN, ("ojs_attention.change_rulechange",), Tenants.ALL,
        api={ADMIN_WRITE: "putAttentionRule"},
    ),
)  # fmt: skip
