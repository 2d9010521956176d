"""Errors of this app alone. Spec: contract 35."""

from jobs.domain.errors import Unprocessable


class PlaintextRefused(Unprocessable):
    code = "plaintext_refused"
    hint = "encode the arguments with a codec: the server may store no plaintext of this job type"
