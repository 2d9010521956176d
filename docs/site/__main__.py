"""python -m docs.site FOLDER: write the pages of the site into a folder."""

import os
import sys
from pathlib import Path

import django


def main() -> None:
    """Load the server, whose code the reference describes, and write the pages."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ojs_project.settings")
    os.environ.setdefault("OJS_BUILD", "true")
    django.setup()
    from docs.site.stage import stage  # noqa: PLC0415 - needs the apps

    stage(Path(sys.argv[1]))


if __name__ == "__main__":
    main()
