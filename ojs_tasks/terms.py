"""The terms: the options of jobs, as `@job`, `options` and signatures take them.

One table has a row for each term: the values that it accepts, and the envelope member that it sets.
A term of None leaves the member out, so that the server's default applies.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ojs_tasks import term_values as values
from ojs_tasks.exceptions import UnknownTerm
from ojs_tasks.foreign_terms import FOREIGN, refusal
from ojs_tasks.times import milliseconds, moment


class Term(NamedTuple):
    """A row of the table."""

    member: str  # of the envelope; "": several
    convert: values.Convert


TERMS: Final[Mapping[str, Term]] = {
    "queue": Term("queue", values.text),
    "priority": Term("priority", values.any_of(int, str)),
    "retry": Term("retry", values.retry),
    "unique": Term("unique", values.unique),
    "rate_limit": Term("rate_limit", values.rate_limit),
    "meta": Term("meta", values.dictionary),
    "tags": Term("tags", values.texts),
    "tenant": Term("meta", values.text),
    "version": Term("version", values.any_of(str, int)),
    "schema": Term("schema", values.text),
    "timeout": Term("timeout_ms", milliseconds),
    "visibility_timeout": Term("visibility_timeout_ms", milliseconds),
    "result_ttl": Term("result_ttl", values.seconds),
    "delay": Term("scheduled_at", moment),
    "scheduled_at": Term("scheduled_at", moment),
    "expires_at": Term("expires_at", moment),
    "pending": Term("pending", values.any_of(bool)),
    "attributes": Term("", values.dictionary),
    "id": Term("id", values.text),
}
OF_CALL: Final = frozenset({"id"})  # terms of a single call
# Properties of a handler: `@job` takes them, and no single call
OF_HANDLER: Final = frozenset(
    {"idempotent", "versions", "accept_unversioned", "autoretry_for", "dont_retry_for"}
)
MERGED: Final = frozenset({"meta", "tenant", "attributes"})
TENANT: Final = "tenant_id"  # in `meta`
RESERVED: Final = frozenset({"specversion", "type", "args", "options", "timeout"})


def with_terms(
    members: Mapping[str, Any], terms: Mapping[str, Any], job_type: str, *, of_call: bool = True
) -> dict[str, Any]:
    """Return envelope members with these terms applied; problems name the job's type.

    A new `meta` replaces the old one but keeps its tenant. `of_call` False excludes the terms of a
    single call. Raises UnknownTerm, and TypeError or ValueError for a wrong value.
    """
    for name in terms:
        _require_known(name, job_type, of_call=of_call)
    if terms.get("delay") is not None and terms.get("scheduled_at") is not None:
        raise ValueError(f"job {job_type!r}: delay and scheduled_at exclude each other")
    found = {**members}
    # None first: of two terms of one member, the one with a value counts
    for name, value in sorted(terms.items(), key=lambda item: item[1] is not None):
        if name not in MERGED:
            found[TERMS[name].member] = None if value is None else TERMS[name].convert(value, name)
    if not MERGED.isdisjoint(terms):
        found |= _meta(members, terms) | _attributes(terms, job_type)
    return found


def _require_known(name: str, job_type: str, *, of_call: bool) -> None:
    if name in TERMS and (of_call or name not in OF_CALL):
        return
    if name in OF_CALL:
        problem = f"{name!r} is a term of a single call: use options({name}=…)"
    elif name in OF_HANDLER:
        problem = f"{name!r} is a term of @job, not of a single call"
    else:
        raise refusal(f"job {job_type!r}", name, TERMS, FOREIGN)
    raise UnknownTerm(f"job {job_type!r}: {problem}")


def _meta(members: Mapping[str, Any], terms: Mapping[str, Any]) -> dict[str, Any]:
    before = members.get("meta") or {}
    if "meta" not in terms:
        after = {**before}
    else:
        kept = {TENANT: before[TENANT]} if TENANT in before else {}
        given = terms["meta"]
        after = {**kept, **({} if given is None else values.dictionary(given, "meta"))}
    if terms.get("tenant") is not None:
        after[TENANT] = values.text(terms["tenant"], "tenant")
    elif "tenant" in terms:
        after.pop(TENANT, None)
    return {"meta": after}


def _attributes(terms: Mapping[str, Any], job_type: str) -> dict[str, Any]:
    given = terms.get("attributes")
    found = {} if given is None else values.dictionary(given, "attributes")
    taken = {*TERMS, *RESERVED, *(row.member for row in TERMS.values())}
    if wrong := sorted(taken.intersection(found)):
        raise UnknownTerm(
            f"job {job_type!r}: attributes holds custom members alone, and {wrong[0]!r} is none"
        )
    return found
