"""`@periodic`: schedules in code. `runworker` registers, changes and removes them at its start.

    @periodic("0 6 * * *", timezone="Europe/Berlin")
    @job("report.daily")
    def daily() -> None: ...

A schedule belongs to the project, `OJS["PROJECT"]`. An operator can pause it; its other members are
changed in code alone.
"""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Final, Literal, TypeAlias, TypeVar, Unpack

from ojs_tasks.declared import declare, require_new
from ojs_tasks.exceptions import Refused
from ojs_tasks.handlers import Handler
from ojs_tasks.server import check_schedule
from ojs_tasks.term_types import JobTerms
from ojs_tasks.terms import with_terms

H = TypeVar("H", bound=Handler[Any, Any])
Overlap: TypeAlias = Literal["skip", "allow", "cancel_previous", "enqueue"]

CODING: Final = "ojs_tasks.codecs.configured"  # has coding(); imported late: it reads settings
UNDECLARABLE: Final = "@periodic belongs above @job: {!r} is no handler"


def periodic(
    expression: str,
    *,
    timezone: str = "UTC",
    overlap: Overlap = "skip",
    args: Sequence[Any] = (),
    name: str | None = None,
    **terms: Unpack[JobTerms],
) -> Callable[[H], H]:
    """Give a handler a schedule that makes a job with `args` at each of its times.

    `expression` has five fields, or is a name such as `@daily` or `@every 90s`. `timezone` is UTC
    or an IANA name. `overlap` decides what happens while the run before goes on. `terms` are
    options of the jobs. `name` is that of the schedule: by default the type, with `-` for `_`. A
    handler may have several schedules of different names.

    Raises TypeError for a function without `@job` and for arguments that it does not accept. Raises
    ValueError for a name that another schedule has, or for encoded arguments without a key for
    digests. Raises UnknownTerm, and the server's refusal.
    """

    def decorate(handler: H, /) -> H:
        if not isinstance(handler, Handler):
            raise TypeError(UNDECLARABLE.format(handler))
        members = with_terms(handler.members, terms, handler.type, of_call=False)
        chosen = name or handler.type.replace("_", "-")
        require_new(chosen)
        body = {
            "name": chosen,
            "expression": expression,
            "timezone": timezone,
            "overlap_policy": overlap,
            "job_template": {
                **members, "type": handler.type, "args": handler.bind(tuple(args), {}),
            },
        }  # fmt: skip
        _check(body)
        declare(body)
        return handler

    return decorate


def _check(body: Mapping[str, Any]) -> None:
    try:
        import_module(CODING).coding().check_schedule(body)
        check_schedule(body)
    except (Refused, ValueError) as problem:
        problem.add_note(f"in the schedule {body['name']!r}")
        raise
