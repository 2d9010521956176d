"""Errors of the schema registry. Spec: contract 30.1, 30.3, 30.4, 30.5."""

from jobs.domain.errors import Conflict, Unprocessable, ValidationFailed


class InvalidSchema(Unprocessable):
    code = "invalid_schema"
    hint = "send a JSON Schema of draft 2020-12 that refers to nothing outside itself"


class InvalidVersion(Unprocessable):
    code = "invalid_version"
    hint = 'send a version such as "2.0", or a whole number'


class SchemaConflict(Conflict):
    code, type = "schema_conflict", "conflict"
    hint = "register the document under a new version, or send on_conflict=replace"


class SchemaInUse(Conflict):
    code = "schema_in_use"
    hint = "let the workers that declare this version end, or send force=true"


class BreakingChange(Unprocessable):
    code = "breaking_change"
    hint = "give it the version that details.required_version names, or name compatible_with"


class ArgsRefused(ValidationFailed):
    hint = "make the arguments fit the registered schema, or send the version they are of"
