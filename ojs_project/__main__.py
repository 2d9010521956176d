"""Commands of the standalone server: `ojs-server COMMAND`, or `python -m ojs_project COMMAND`."""

import os
import sys
from contextlib import suppress

from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line

from jobs import bounds
from jobs.domain import extras
from ojs_project.loading import load

SERVICES = {"demofederation", "qcluster", "quickstart", "runserver", "runworker"}

UNBOUNDED = {"firststart", "migrate"}


def main() -> None:
    """Run the command that the arguments name, with the settings of the standalone server.

    Raises SystemExit without the extra `server`.
    """
    if problem := extras.missing("the standalone server", *extras.STANDALONE):
        sys.exit(problem)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
    if {"demofederation", "quickstart"} & set(sys.argv[1:2]):
        # they make the secret key and the database; only its children need them
        os.environ.setdefault("OJS_BUILD", "true")
    if not SERVICES & set(sys.argv[1:2]):
        os.environ.setdefault("OJS_LOG_STREAM", "stderr")  # standard output is the answer's
    if UNBOUNDED & set(sys.argv[1:2]):
        bounds.for_process(bounds.Work.MIGRATIONS)
    with suppress(ImproperlyConfigured):  # the next line raises it, except for `help`
        load()
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
