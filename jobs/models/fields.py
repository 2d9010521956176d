"""Column types that Django lacks, and an expression for indexes."""

from typing import Any

from django.db import models

DEFAULT_TENANT = "_default"


class NameField(models.TextField):  # type: ignore[type-arg]  # generic only for type checkers
    """Text compared byte by byte: names are identifiers, and the C collation is the fast one."""

    def __init__(self, *args: Any, **options: Any) -> None:
        """Set the collation."""
        options.setdefault("db_collation", "C")
        super().__init__(*args, **options)


class Xid8Field(models.Field):  # type: ignore[type-arg]  # generic only for type checkers
    """A PostgreSQL transaction id that never wraps."""

    def db_type(self, connection: Any) -> str:
        """Name the column type."""
        return "xid8"


class BaseType(models.Func):
    """The type of a job without the version that may stand behind it, for indexes."""

    template = "split_part(%(expressions)s, '@', 1)"
    arity = 1
    output_field = models.TextField()
