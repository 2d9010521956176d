"""Check the arguments of new jobs. Spec: job-versioning 6.2, contract 30.4."""

import logging
from collections.abc import Sequence

from jobs.domain.enqueue.draft import JobDraft
from jobs.domain.errors import OJSError
from ojs_tasks.codecs.payload import has_encoded
from ojs_tasks.versions import split_type
from versioning.conf import conf
from versioning.domain.schema import Mode
from versioning.domain.schema_errors import ArgsRefused
from versioning.domain.schema_version import parse_key
from versioning.services import schema_cache
from versioning.services.schema_cache import Entries, Entry

logger = logging.getLogger("ojs.versioning")
PER_SCHEMA, LATEST = "per-schema", "latest"


def refusals(drafts: Sequence[JobDraft], config_version: int) -> dict[int, OJSError]:
    """Return the errors of drafts that do not fit their schemas, by position.

    Warnings are set on the drafts. `config_version` is the version to use. By default, drafts
    without a version are not checked.
    """
    setting = conf()
    if setting.schema_validation == Mode.OFF:
        return {}
    takes_all = setting.schema_validate_unversioned == LATEST
    checked = {n: d for n, d in enumerate(drafts) if takes_all or d.version is not None}
    if not checked:
        return {}
    schemas = schema_cache.of_types({_base(draft) for draft in checked.values()}, config_version)
    found = {n: _refusal(draft, schemas[_base(draft)]) for n, draft in checked.items()}
    return {n: problem for n, problem in found.items() if problem is not None}


def _base(draft: JobDraft) -> str:
    return split_type(draft.type)[0]  # the type may keep its version, by the settings


def _refusal(draft: JobDraft, entries: Entries) -> OJSError | None:
    draft.warnings = ()
    entry = _entry(draft, entries)
    if entry is None or (mode := _mode(entry)) is Mode.OFF:
        return None
    validator = schema_cache.validator(entry, asserts_formats=mode is Mode.STRICT)
    if validator is None or (not validator.takes_encoded and has_encoded(draft.args)):
        return None
    problems = validator.problems(draft.args)
    if not problems:
        return None
    if mode is Mode.STRICT:
        return _refused(draft, entry, problems)
    draft.warnings = tuple(problems)
    facts = {"job_type": _base(draft), "version": entry.version, "problems": len(problems)}
    logger.warning("schema.not_met", extra=facts)
    return None


def _entry(draft: JobDraft, entries: Entries) -> Entry | None:
    if not entries.by_key:
        return None
    return entries.latest if draft.version is None else entries.of(parse_key(draft.version))


def _mode(entry: Entry) -> Mode:
    setting = conf().schema_validation
    return entry.mode if setting == PER_SCHEMA else Mode(setting)


def _refused(draft: JobDraft, entry: Entry, problems: Sequence[str]) -> ArgsRefused:
    listed = {"validation_errors": list(problems)}
    refused = ArgsRefused(
        f"args do not fit the schema of {draft.type} {entry.version}: {problems[0]}",
        details={"field": "args", "type": draft.type, "version": entry.version, **listed},
    )
    refused.listed = listed
    return refused
