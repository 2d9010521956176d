"""The core in Django admin: everything to read, actions by services, API keys to make and revoke.

Tables whose key has several columns cannot be shown there; the console shows what they hold.
"""

from jobs.admin.base import MANY, BoundedPaginator, ById, Permitted, ReadOnly, caller_of, each
from jobs.admin.keys import ApiKeyAdmin, StaffAdmin
from jobs.admin.tables import JobAdmin

__all__ = [
    "MANY", "ApiKeyAdmin", "BoundedPaginator", "ById", "JobAdmin", "Permitted", "ReadOnly",
    "StaffAdmin", "caller_of", "each",
]  # fmt: skip
