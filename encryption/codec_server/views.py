"""The view of the codec server: a token of the console, codecs, and an entry in the audit log."""

import logging
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth import get_user_model
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from encryption.codec_server import payloads
from encryption.permits import DECODE
from encryption.tokens import Decoding, TokenRefused, read
from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.services.audit.audit import record
from ojs_tasks.codecs import CodecFailed, CodecKeyUnknown
from ojs_tasks.codecs.configured import coding

logger = logging.getLogger("ojs.codecserver")
BEARER = "Bearer "


@method_decorator(csrf_exempt, name="dispatch")  # a token of a header, no cookie, gives the right
class Payloads(View):
    """Decodes or encodes the payloads of a request."""

    http_method_names: ClassVar = ["post", "options"]

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer, and let the pages of the console read the answer."""
        response: HttpResponse = super().dispatch(request, *args, **kwargs)
        if request.headers.get("Origin") == settings.CODEC_SERVER_ORIGIN:
            response["Access-Control-Allow-Origin"] = settings.CODEC_SERVER_ORIGIN
            response["Access-Control-Allow-Headers"] = "authorization, content-type"
            response["Access-Control-Allow-Methods"] = "POST"
        response["Vary"] = "Origin"
        response["Cache-Control"] = "no-store"
        return response

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Answer the browser's question before the request."""
        return HttpResponse(status=204)

    def post(self, request: HttpRequest, direction: str) -> HttpResponse:
        """Answer the payloads, after the entry in the audit log is committed."""
        try:
            decoding = read(request.headers.get("Authorization", "").removeprefix(BEARER))
        except TokenRefused as problem:
            return _refused(401, "unauthenticated", str(problem))
        name = _permitted(decoding)
        if name is None:
            return _refused(403, "forbidden", "this account may not decode arguments")
        if int(request.META.get("CONTENT_LENGTH") or 0) > payloads.MOST_BYTES:
            return _refused(413, "payload_too_large", f"at most {payloads.MOST_BYTES} bytes")
        try:
            found = payloads.read(request.body)
        except payloads.BadPayload as problem:
            return _refused(400, "invalid_request", str(problem))
        _note(decoding, name, direction, len(found), request.META.get("REMOTE_ADDR"))
        work = payloads.decoded if direction == "decode" else payloads.encoded
        try:
            return JsonResponse({"payloads": [work(coding(), *one) for one in found]})
        except (CodecFailed, CodecKeyUnknown) as problem:
            return _refused(422, problem.code, str(problem))


def _permitted(decoding: Decoding) -> str | None:
    """Return the name of the user if the account may still decode arguments."""
    user = get_user_model().objects.filter(pk=decoding.user_id, is_active=True).first()
    if user is None or not user.has_perms(DECODE.permissions):
        return None
    return str(user.get_username())


def _note(decoding: Decoding, name: str, direction: str, number: int, address: str | None) -> None:
    with atomic():
        record(
            Caller(f"console:{name}", address=address, reason=decoding.reason),
            f"job.arguments_{direction}d",
            decoding.job_id,
            data={"values": number},
        )


def _refused(status: int, code: str, message: str) -> HttpResponse:
    return JsonResponse({"error": {"code": code, "message": message}}, status=status)
