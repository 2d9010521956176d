"""Errors of this app alone. Spec: contract 22.2."""

from jobs.domain.errors import Unprocessable


class InvalidVersionRange(Unprocessable):
    code = "invalid_version_range"
    hint = 'write ranges as "*", "2.0" or ">=1.0 <3.0"'


class TooManyVersions(Unprocessable):
    code = "x_too_many_versions"
    hint = "count versions up for other arguments only, or raise OJS_VERSION_MAX_VERSIONS"
