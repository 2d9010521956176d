#!/usr/bin/env python3
"""Entry point of the standalone server's commands."""

import os
import sys

from django.core.management import execute_from_command_line

from jobs import bounds

SERVICES = {"demofederation", "qcluster", "quickstart", "runserver", "runworker"}

UNBOUNDED = {"firststart", "migrate"}

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
    if {"demofederation", "quickstart"} & set(sys.argv[1:2]):
        # they make the secret key and the database; only its children need them
        os.environ.setdefault("OJS_BUILD", "true")
    if not SERVICES & set(sys.argv[1:2]):
        os.environ.setdefault("OJS_LOG_STREAM", "stderr")  # standard output is the answer's
    if UNBOUNDED & set(sys.argv[1:2]):
        bounds.for_process(bounds.Work.MIGRATIONS)
    execute_from_command_line(sys.argv)
