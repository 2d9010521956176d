"""System checks: a wrong setting stops the start instead of the first request."""

from dataclasses import fields
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from jobs import extensions, middleware
from jobs.conf import Conf, conf
from jobs.domain.access import peers
from jobs.domain.access.hashers import HASHERS, without_argon2
from jobs.domain.outcome.retention import parse_age
from ojs_tasks.checks import REMOTE_KEYS, unknown
from ojs_tasks.tracing import HANDLERS

TRANSPORT = "jobs.api.transport.Transport"
MAY_BE_ZERO = {  # without bound
    "retention_dead_letter_jobs", "retention_event_rows", "statement_timeout_ms", "lock_timeout_ms",
    "task_statement_timeout_ms", "task_lock_timeout_ms", "idle_in_transaction_timeout_ms",
    "login_account_failures", "login_address_failures",
}  # fmt: skip
AGES = [
    field.name
    for field in fields(Conf)
    if field.name.startswith("retention_") and type(field.default) is str
]
OF_TASKS = {key.lower() for key in REMOTE_KEYS}  # for a server at a distance and for codecs


@register("ojs")
def check_settings(**_options: Any) -> list[CheckMessage]:
    """Report unknown keys, impossible values and extensions that cannot be imported."""
    names = {field.name for field in fields(Conf)} | OF_TASKS
    found: list[CheckMessage] = [
        unknown(key, [name.upper() for name in names])
        for key in getattr(settings, "OJS", {})
        if key.lower() not in names
    ]
    found += [
        Error(f"OJS[{field.name.upper()!r}] is {value!r}: use a positive number", id="ojs.E006")
        for field in fields(Conf)
        if type(field.default) is int
        and (
            type(value := getattr(conf(), field.name)) is not int
            or value < (0 if field.name in MAY_BE_ZERO else min(field.default, 1))  # 0 means none
        )
    ]
    found += _retention()
    found += _wrong_proxies()
    if conf().apikey_hasher not in HASHERS:
        wrong = f"OJS['APIKEY_HASHER'] is {conf().apikey_hasher!r}"
        found.append(Error(f"{wrong}: use one of {', '.join(HASHERS)}", id="ojs.E024"))
    if conf().default_on_exhaustion not in {"discard", "dead_letter"}:
        wrong = f"OJS['DEFAULT_ON_EXHAUSTION'] is {conf().default_on_exhaustion!r}"
        found.append(Error(f"{wrong}: use discard or dead_letter", id="ojs.E023"))
    if conf().trace_handlers not in HANDLERS:
        wrong = f"OJS['TRACE_HANDLERS'] is {conf().trace_handlers!r}"
        found.append(Error(f"{wrong}: use {' or '.join(HANDLERS)}", id="ojs.E027"))
    sample: object = conf().log_sample
    if not isinstance(sample, int | float) or not 0 <= sample <= 1:
        wrong = f"OJS['LOG_SAMPLE'] is {sample!r}"
        found.append(Error(f"{wrong}: use a number from 0 to 1", id="ojs.E025"))
    if conf().auth not in {"apikey", "off"}:
        found.append(Error(f"OJS['AUTH'] is {conf().auth!r}: use apikey or off", id="ojs.E002"))
    if conf().auth == "off" and not (settings.DEBUG or conf().allow_insecure):
        found.append(
            Error("OJS['AUTH'] is off: set ALLOW_INSECURE, or use API keys", id="ojs.E003")
        )
    try:
        extensions.installed()
    except (ImportError, TypeError) as problem:
        found.append(Error(f"OJS['EXTENSIONS']: {problem}", id="ojs.E004"))
    return found + _wrong_middleware()


@register("ojs")
def check_hasher(**_options: Any) -> list[CheckMessage]:
    """Report a hash of API keys whose package is not installed."""
    if conf().apikey_hasher == "argon2" and (problem := without_argon2()):
        return [Error(f"OJS['APIKEY_HASHER']: {problem}", id="ojs.E026")]
    return []


def _wrong_middleware() -> list[CheckMessage]:
    found: list[CheckMessage] = []
    for name, chain in (
        ("ENQUEUE_MIDDLEWARE", middleware.enqueue_chain),
        ("EXECUTION_MIDDLEWARE", middleware.execution_chain),
    ):
        try:
            chain()
        except (ImportError, TypeError, ValueError) as problem:
            found.append(Error(f"OJS[{name!r}]: {problem}", id="ojs.E007"))
    return found


def _wrong_proxies() -> list[CheckMessage]:
    try:
        peers.networks(conf().trusted_proxies)
    except ValueError as problem:
        return [Error(f"OJS['TRUSTED_PROXIES']: {problem}", id="ojs.E020")]
    found: list[CheckMessage] = []
    if conf().tls_subject_header and not conf().trusted_proxies:
        message = "OJS['TLS_SUBJECT_HEADER'] has no effect: set TRUSTED_PROXIES, too"
        found.append(Error(message, id="ojs.E021"))
    is_asked = conf().require_tls or conf().trusted_proxies
    if is_asked and TRANSPORT not in settings.MIDDLEWARE:
        message = f"OJS['REQUIRE_TLS'] and ['TRUSTED_PROXIES'] need {TRANSPORT} in MIDDLEWARE"
        found.append(Error(message, id="ojs.E022"))
    return found


def _retention() -> list[CheckMessage]:
    found: list[CheckMessage] = []
    ages: dict[str, int | None] = {}
    for name in AGES:
        value = getattr(conf(), name)
        try:
            ages[name] = parse_age(value)
        except ValueError:
            found.append(
                Error(
                    f"OJS[{name.upper()!r}] is {value!r}: use a duration such as P7D, or 0",
                    id="ojs.E010",
                )
            )
    if ages.get("retention_dead_letter", 1) is None and not conf().retention_dead_letter_jobs:
        found.append(
            Error(
                "OJS['RETENTION_DEAD_LETTER'] and OJS['RETENTION_DEAD_LETTER_JOBS'] are both 0:"
                " the dead letter must be bounded",
                id="ojs.E011",
            )
        )
    if conf().pruning_policy not in {"delete", "archive"}:
        found.append(
            Error(
                f"OJS['PRUNING_POLICY'] is {conf().pruning_policy!r}: use delete or archive",
                id="ojs.E012",
            )
        )
    return found
