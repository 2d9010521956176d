"""A handler with a schedule that has no time soon."""

from ojs_tasks import job, periodic


@periodic("@yearly", timezone="Europe/Berlin")
@job("tests.yearly", queue="yearly")
def yearly() -> None:
    """Do nothing."""
