"""The standalone server from the installed wheel."""

import subprocess
from pathlib import Path

from tests.package.dist import contents
from tests.project.conftest import clean_environment

FIND = """
import sys, django; django.setup()
import ojs_project
from django.contrib.staticfiles.finders import find
from django.template.loader import get_template
from django.urls import reverse
assert "site-packages" in ojs_project.__file__, ojs_project.__file__
for line in sys.stdin.read().split():
    folder, _, name = line.partition("/templates/")
    if name:
        path = str(get_template(name).origin)
    else:
        path = find(line.partition("/static/")[2])
    assert path and path.endswith(line), (line, path)
print(reverse("ojs_console:overview"))
"""


def test_the_installed_server_finds_its_templates_and_static_files(
    full_python: Path, wheel: Path, tmp_path: Path
) -> None:
    files = [path for path in contents(wheel) if "/templates/" in path or "/static/" in path]

    done = subprocess.run(
        [full_python, "-c", FIND], input="\n".join(files), cwd=tmp_path, text=True,
        env={**clean_environment(), "OJS_BUILD": "true",
             "DJANGO_SETTINGS_MODULE": "ojs_project.settings"},
        capture_output=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "/console/\n"), done.stderr


def test_the_command_of_the_server_runs(full_python: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [full_python.with_name("ojs-server"), "quickstart", "--port", "0"], cwd=tmp_path,
        env=clean_environment(), text=True, capture_output=True, check=False,
    )  # fmt: skip

    assert "0 is not a port: use 1 to 65535" in done.stderr
