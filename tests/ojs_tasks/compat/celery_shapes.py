"""Objects with the documented attributes of Celery's, which is not installed for the tests."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any


class FakeTask:
    """A task of Celery's."""

    max_retries: int | None = 3
    default_retry_delay = 180
    acks_late = False

    def __init__(self, function: Callable[..., Any], name: str, **options: Any) -> None:
        """Take options as attributes, as Celery does."""
        self.name = name
        self.__wrapped__ = function
        self.run = function
        vars(self).update(options)


def application(tasks: list[FakeTask], **conf: Any) -> SimpleNamespace:
    """Return an application with these tasks, with one of Celery's own, and with settings."""
    own = FakeTask(print, "celery.backend_cleanup")
    found: Mapping[str, FakeTask] = {one.name: one for one in [own, *tasks]}
    return SimpleNamespace(tasks=found, conf=SimpleNamespace(**conf))


def crontab(**fields: Any) -> SimpleNamespace:
    """Return a crontab schedule with the fields as they were given."""
    names = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
    return SimpleNamespace(**{f"_orig_{name}": fields.get(name, "*") for name in names})
