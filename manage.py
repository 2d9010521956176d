#!/usr/bin/env python3
"""Entry point of the standalone server's commands."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
    if sys.argv[1:2] == ["quickstart"]:
        # it makes the secret key and the database; only its children need them
        os.environ.setdefault("OJS_BUILD", "true")
    execute_from_command_line(sys.argv)
