"""The encoded data of a job, which the operator's browser decodes by the codec server.

This server never has the plaintext: it gives the browser a token and the encoded values.
"""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import orjson
from django.http import HttpRequest, HttpResponse

from console.callers import caller_of
from console.one_job import OfOneJob
from encryption.conf import conf
from encryption.tokens import Decoding, issue
from jobs.domain.job import Job
from ojs_tasks.arguments import split
from ojs_tasks.codecs.payload import KEY_ID, is_encoded


class JobDecode(OfOneJob):
    """Asks for a reason, then lets the browser decode arguments and result."""

    template_name = "ojs/console/job_decode.html"
    title = "Decode arguments"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Ask for the reason."""
        return self._shown(self.found())

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Give the browser a token for the values of this job."""
        job = self.found()
        reason = caller_of(request).reason
        url = conf().codec_server_url.rstrip("/")
        if not url or not reason:
            return self._shown(job, problem="Name a reason." if url else "")
        token = issue(Decoding(int(request.user.pk or 0), job.id, reason))
        request_facts = {"url": f"{url}/codec/decode", "token": token, "values": values_of(job)}
        response = self._shown(job, decoding=request_facts)
        address = urlsplit(url)
        response.ojs_csp = f"; connect-src {address.scheme}://{address.netloc}"  # type: ignore[attr-defined]
        return response

    def _shown(self, job: Job, **facts: Any) -> HttpResponse:
        return self.render_to_response(
            self.get_context_data(
                job=job, has_server=bool(conf().codec_server_url), values=values_of(job), **facts
            )
        )


def values_of(job: Job) -> list[dict[str, Any]]:
    """Return the encoded values of a job as the codec server takes them, each with its place."""
    meta = orjson.loads(job.meta)
    return [
        {
            "place": place,
            "data": value.get("data"),
            "metadata": {
                "encoding": value.get("encoding"),
                "encryption_key_id": value.get("key_id") or meta.get(KEY_ID),
                # a result is bound to no job
                "job_type": "" if place == "result" else job.type,
                "tenant_id": None if place == "result" else meta.get("tenant_id"),
            },
        }
        for place, value in _encoded(job)
    ]


def _encoded(job: Job) -> Iterator[tuple[str, dict[str, Any]]]:
    args = orjson.loads(job.args)
    positions, keywords = split(args)
    if len(args) == 1 and is_encoded(args[0]):
        yield "arguments", args[0]
    else:
        named = [*enumerate(positions), *keywords.items()]
        yield from ((f"argument {name}", one) for name, one in named if is_encoded(one))
    result = None if job.result is None else orjson.loads(job.result)
    if is_encoded(result):
        yield "result", result
