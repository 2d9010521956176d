"""Permits: what an operation takes of its caller, whichever edge the caller comes by.

An app lists its permits in `permits.py`; `jobs/permits.py` joins them. The API, the console,
Django's admin and the operator tasks look up the rule of an operation there and nowhere else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Final


class Role(IntEnum):
    """The least role of staff that has a permit; each role has the permits of those before it."""

    ANYONE = 0  # no login
    VIEWER = 1  # reads
    OPERATOR = 2  # acts: on jobs, queues, workers, schedules, limits and tenants
    ADMIN = 3  # configures: also API keys and users
    SUPERUSER = 4  # no group has it


class Tenants(Enum):
    """What a caller may do who is bound to one tenant, by its key, its account or a header."""

    ALL = "all"  # the operation concerns all tenants: refused
    OWN = "own"  # narrowed to the things of that tenant
    NONE = "none"  # tells and changes nothing of any tenant


SUPERUSER: Final = ("superuser",)  # a permission that nobody can be given


def is_reading(permission: str) -> bool:
    """Tell whether a permission changes nothing."""
    return permission.partition(".")[2].startswith("view_")


@dataclass(frozen=True, slots=True)
class Permit:
    """One operation: the permissions it takes of staff, and the edges it is offered by.

    `api` has operation ids by the scope that a key needs, separated by spaces. An id with a
    question mark is a part of an operation that takes more than the whole.
    """

    name: str
    role: Role
    permissions: tuple[str, ...]  # a session needs all of them
    tenants: Tenants
    api: Mapping[str | None, str] = field(default_factory=dict)
    admin: str = ""  # Django's admin: `app.Model:verb`, verbs are add, change, delete and actions
    commands: str = ""  # of manage.py: who has the shell of the server has all permits
    tasks: str = ""  # functions that the cluster of operator tasks runs for it


@dataclass(frozen=True, slots=True)
class Required:
    """What one operation of the API takes."""

    operation: str
    scope: str | None  # of a key; None: anyone may
    permit: Permit

    @property
    def tenants(self) -> Tenants:
        """What callers of one tenant may do."""
        return self.permit.tenants
