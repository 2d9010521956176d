"""The permit of the commands that start and upgrade the server: whoever has its shell."""

from typing import Final

from jobs.domain.permits import SUPERUSER, Permit, Role, Tenants

PERMITS: Final = (
    Permit(
        "server.start", Role.SUPERUSER, SUPERUSER, Tenants.ALL,
        commands="firststart quickstart demofederation",
    ),
)  # fmt: skip
