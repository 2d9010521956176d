"""The permit of the commands that start and upgrade the server: shell access is enough."""

from typing import Final

from jobs.domain.access.permits import SUPERUSER, Permit, Role, Tenants

PERMITS: Final = (
    Permit(
        "server.start", Role.SUPERUSER, SUPERUSER, Tenants.ALL,
        commands="firststart quickstart demofederation",
    ),
)  # fmt: skip
