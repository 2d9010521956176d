"""System checks of a host project: foreign modules of our names, and missing apps.

They need nothing of the apps that they check, which may be missing.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.exceptions import ImproperlyConfigured

from ojs_tasks.codecs.configured import SETTINGS, coding_of
from ojs_tasks.configured import settings_of
from ojs_tasks.exceptions import NoServer
from ojs_tasks.installed import has_app
from ojs_tasks.remote.settings import RemoteSettings

CONFIGS: Final = {
    "jobs": "jobs.apps.JobsConfig",
    "tenancy": "tenancy.apps.TenancyConfig",
    "scheduling": "scheduling.apps.SchedulingConfig",
    "versioning": "versioning.apps.VersioningConfig",
    "federation": "federation.apps.FederationConfig",
    "workflows": "workflows.apps.WorkflowsConfig",
    "webhooks": "webhooks.apps.WebhooksConfig",
    "durable": "durable.apps.DurableConfig",
    "encryption": "encryption.apps.EncryptionConfig",
    "attention": "attention.apps.AttentionConfig",
    "console": "console.apps.ConsoleConfig",
}
_AUTH: Final = ("django.contrib.auth", "django.contrib.contenttypes")  # Django loads no app without
NEEDS: Final[Mapping[str, Sequence[str]]] = {
    "jobs": (*_AUTH, "django.contrib.postgres", "rest_framework"),
    "tenancy": ("jobs",),
    "scheduling": ("jobs",),
    "versioning": ("jobs",),
    "federation": ("jobs",),
    "workflows": ("jobs",),
    "webhooks": ("jobs",),
    "durable": ("jobs",),
    "encryption": ("jobs",),
    "attention": ("jobs",),
    "console": (
        "jobs", "django.contrib.sessions", "django.contrib.messages", "django.contrib.staticfiles",
        "django_q",
    ),
}  # fmt: skip
# the keys of the setting `OJS` that a project without our other apps has
REMOTE_KEYS: Final = (
    "SERVER", "API_KEY", "TIMEOUT", "RETRIES", "CA", "ALLOW_HTTP", "ENQUEUE_ON_COMMIT",
    "TRACE_HANDLERS",
    "SHUTDOWN_GRACE_MS", "EXECUTION_MIDDLEWARE", "PROJECT", *SETTINGS,
)  # fmt: skip
FOLDER: Final = Path(__file__).resolve().parents[1]  # of all our packages


@register("ojs")
def check_modules(**_options: Any) -> list[CheckMessage]:
    """Report packages of the project that hide ours."""
    return list(_shadowed())


@register("ojs")
def check_apps(**_options: Any) -> list[CheckMessage]:
    """Report apps that the installed apps need."""
    if _is_remote() or any(_shadowed()):
        return []
    return list(_missing())


@register("ojs")
def check_codecs(**_options: Any) -> list[CheckMessage]:
    """Report wrong settings of codecs."""
    if not any(_ojs().get(name) for name in SETTINGS):
        return []
    try:
        coding_of(_ojs())
    except ValueError as problem:
        return [Error(str(problem), id="ojs.E033")]
    return []


@register("ojs")
def check_remote(**_options: Any) -> list[CheckMessage]:
    """Report wrong settings of remote mode: unknown keys, and values that no request can use."""
    found = [] if has_app("jobs") else list(_unknown_keys())
    if _is_remote():
        try:
            RemoteSettings.of(_ojs())
        except NoServer as problem:
            found.append(Error(str(problem), hint="correct the setting OJS", id="ojs.E034"))
    return found


def unknown(key: str, known: Sequence[str]) -> CheckMessage:
    """Return the error of a key that the setting `OJS` does not have."""
    near = get_close_matches(key.upper(), known, 1)
    hint = f"did you mean {near[0]!r}?" if near else "the manual lists the keys: configuration"
    return Error(f"OJS[{key!r}] is not a setting", hint=hint, id="ojs.E001")


def refuse_unloadable() -> None:
    """Raise ImproperlyConfigured for the first problem that keeps Django from loading the apps."""
    if _is_remote():
        return
    for name, where in _foreign():
        # to find the spec of its module `apps` would import the package
        if CONFIGS[name] in settings.INSTALLED_APPS and not (where / "apps.py").is_file():
            _refuse(_shadow(name, where))
    for problem in _missing():
        if problem.obj in _AUTH:
            _refuse(problem)


def _refuse(problem: CheckMessage) -> None:
    raise ImproperlyConfigured(f"({problem.id}) {problem.msg}: {problem.hint}")


def _shadowed() -> Iterator[CheckMessage]:
    if not _is_remote():
        yield from (_shadow(name, where) for name, where in _foreign())


def _shadow(name: str, where: Path) -> CheckMessage:
    return Error(
        f"the package {name!r} is that of {where}, which hides {FOLDER / name}",
        hint="rename your package; or set OJS['SERVER'] and remove our apps, to reach a server"
        " over HTTP (docs/remote.md)"
        if name == "jobs"
        else f"rename your package, or list it as {name!r} if you do not use ours",
        id="ojs.E030",
    )


def _foreign() -> Iterator[tuple[str, Path]]:
    """Yield our packages in use that are not ours, with their folders."""
    named = [*settings.INSTALLED_APPS, *_extensions()]
    for name, config in CONFIGS.items():
        entries = {config, "jobs"} if name == "jobs" else {config}
        is_used = any(one in entries or one.startswith(f"{name}.extension.") for one in named)
        where = _folder(name) if is_used else None
        if where is not None and where != FOLDER / name:
            yield name, where


def _folder(name: str) -> Path | None:
    found = find_spec(name)
    if found is None:
        return None
    places = list(found.submodule_search_locations or ())
    return Path(places[0] if places else found.origin or name).resolve()


def _missing() -> Iterator[CheckMessage]:
    installed = {_package(one) for one in settings.INSTALLED_APPS if not _is_of_project(one)}
    if "jobs" not in installed:
        yield Error(
            "the app 'jobs' is missing, and OJS['SERVER'] is not set",
            hint=f"add {CONFIGS['jobs']!r} to INSTALLED_APPS, or set OJS['SERVER'] to the URL of"
            " a server",
            obj="jobs",
            id="ojs.E031",
        )
        return
    for name, needed in NEEDS.items():
        for other in needed if name in installed else ():
            if other not in installed:
                yield _lack(other, f"the app {name!r} needs")
    for path in _extensions():
        name = path.partition(".")[0]
        if name in CONFIGS and name not in installed:
            yield _lack(name, f"OJS['EXTENSIONS'] lists {path!r}, which needs")


def _lack(name: str, who: str) -> CheckMessage:
    entry = CONFIGS.get(name, name)
    return Error(
        f"{who} the app {name!r}", hint=f"add {entry!r} to INSTALLED_APPS", obj=name, id="ojs.E032"
    )


def _is_of_project(entry: str) -> bool:
    """Return whether an entry is an app of the project with the name of an app of ours."""
    return entry in CONFIGS and _folder(entry) not in {None, FOLDER / entry}


def _unknown_keys() -> Iterator[CheckMessage]:
    """Yield unknown keys; without SERVER only misspelt keys of remote mode."""
    for key in _ojs():
        if key not in REMOTE_KEYS and (
            _is_remote() or get_close_matches(key.upper(), REMOTE_KEYS, 1)
        ):
            yield unknown(key, REMOTE_KEYS)


def _package(entry: str) -> str:
    """Return the package of an entry of INSTALLED_APPS, which may name a configuration."""
    return entry.partition(".apps.")[0]


def _extensions() -> tuple[str, ...]:
    return tuple(_ojs().get("EXTENSIONS", ()))


def _is_remote() -> bool:
    """Return whether the project reaches a server over HTTP and needs none of our other apps."""
    return bool(_ojs().get("SERVER"))


def _ojs() -> Mapping[str, Any]:
    return settings_of(settings)
