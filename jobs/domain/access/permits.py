"""Permits: the rights that an operation requires of its caller, for every edge.

An app lists its permits in `permits.py`; `jobs/permits.py` joins them. The API, the console,
Django's admin and the operator tasks look up the rule of an operation there and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Final


class Role(IntEnum):
    """The least role of staff that has a permit; each role has the permits of lower roles."""

    ANYONE = 0  # no login
    VIEWER = 1  # reads
    OPERATOR = 2  # changes jobs, queues, workers, schedules, limits and tenants
    ADMIN = 3  # configures: also API keys and users
    SUPERUSER = 4  # no group has it


class Tenants(Enum):
    """The rights of callers bound to one tenant, by key, account or header."""

    ALL = "all"  # the operation concerns all tenants: refused
    OWN = "own"  # restricted to data of that tenant
    NONE = "none"  # reads and changes no data of tenants


SUPERUSER: Final = ("superuser",)  # a permission that cannot be granted


def is_reading(permission: str) -> bool:
    """Return whether a permission changes nothing."""
    return permission.partition(".")[2].startswith("view_")


@dataclass(frozen=True, slots=True)
class Permit:
    """One operation: the permissions that staff needs for it, and the edges that offer it.

    `api` has operation ids by the scope that a key needs, separated by spaces. An id with a
    question mark is a part of an operation that requires more than the whole.
    """

    name: str
    role: Role
    permissions: tuple[str, ...]  # a session needs all of them
    tenants: Tenants
    api: Mapping[str | None, str] = field(default_factory=dict)
    admin: str = ""  # Django's admin: `app.Model:verb`, verbs are add, change, delete and actions
    commands: str = ""  # of manage.py: a user with the server's shell has all permits
    tasks: str = ""  # functions that run it as tasks of the cluster


@dataclass(frozen=True, slots=True)
class Required:
    """The rights that one operation of the API requires."""

    operation: str
    scope: str | None  # of a key; None: public
    permit: Permit

    @property
    def tenants(self) -> Tenants:
        """The rights of callers bound to one tenant."""
        return self.permit.tenants
