"""The permits of encryption."""

from typing import Final

from jobs.domain.access.permits import Permit, Role, Tenants

DECODE: Final = Permit(
    "encryption.decode", Role.ADMIN, ("ojs_jobs.view_job", "ojs_jobs.view_classified_job"),
    Tenants.OWN,
)  # fmt: skip
PERMITS: Final = (
    DECODE,
    Permit("encryption.serve", Role.SUPERUSER, ("superuser",), Tenants.ALL, commands="codecserver"),
)
