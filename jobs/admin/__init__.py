"""The core in Django admin: all tables to read, actions by services, API keys to make and revoke.

Django's admin cannot show tables whose key has several columns; the console shows their contents.
"""

from jobs.admin.base import MANY, BoundedPaginator, ById, Permitted, ReadOnly, caller_of, each
from jobs.admin.keys import ApiKeyAdmin, StaffAdmin
from jobs.admin.tables import JobAdmin

__all__ = [
    "MANY", "ApiKeyAdmin", "BoundedPaginator", "ById", "JobAdmin", "Permitted", "ReadOnly",
    "StaffAdmin", "caller_of", "each",
]  # fmt: skip
