"""The limits of a server for jobs, and the check of meta by them. Spec: contract 1.6, 31.3."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from jobs.domain.errors import InvalidRequest, Problem
from jobs.domain.outcome.retry import DEFAULT_POLICY, RetryPolicy
from jobs.domain.wire.bounds import MAX_META_NAME
from jobs.domain.wire.names import META_NAME

NAME_RULE: Final = f"must be named by 1 to {MAX_META_NAME} of a-z, A-Z, 0-9 and _.:-"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits and defaults of a server; sizes in bytes. Spec: contract 1.6, 28.1, 31.3."""

    max_envelope_bytes: int = 1_048_576
    max_meta_bytes: int = 65_536
    types: tuple[str, ...] = ()  # globs; empty: all
    takes_unknown: bool = True  # attributes
    takes_newlines: bool = True  # in texts of meta
    takes_any_names: bool = False  # in meta: for jobs that an earlier release accepted
    retry: RetryPolicy = DEFAULT_POLICY  # a job's own policy is merged over it


DEFAULT_LIMITS: Final = Limits()


def check_meta(meta: Mapping[str, Any], limits: Limits) -> None:
    """Refuse names and texts in meta that the settings of this server exclude."""
    if not limits.takes_any_names:
        _check_names(meta)
    if not limits.takes_newlines:
        _check_newlines(meta)


def _check_names(meta: Mapping[str, Any]) -> None:
    """Refuse names in meta that other software could read as markup or headers.

    Spec: contract 31.3.
    """
    problems = [
        Problem(f"meta.{name[:MAX_META_NAME]}", NAME_RULE)
        for name in meta
        if not META_NAME.fullmatch(name)
    ]
    if problems:
        raise InvalidRequest.of_problems(problems)


def _check_newlines(meta: Mapping[str, Any]) -> None:
    problems = [
        Problem(f"meta.{name}", "must not hold a newline", value)
        for name, value in meta.items()
        if isinstance(value, str) and ("\n" in value or "\r" in value)
    ]
    if problems:
        raise InvalidRequest.of_problems(problems)
