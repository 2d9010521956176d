"""The base of all OJS endpoints: access, limits, the body of the request, and the answer.

Spec: contract 3.1, 4, 31. A view method returns an `Answer`; for anything else it raises OJSError.
"""

from collections.abc import Mapping
from functools import lru_cache
from time import perf_counter
from typing import Any, ClassVar

from django.db import DatabaseError, InterfaceError
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.schemas.inspectors import DefaultSchema
from rest_framework.views import APIView

from jobs import spans
from jobs.api.access.access import OPEN, Principal, authenticate
from jobs.api.access.limiter import Allowance, limits_requests
from jobs.api.mount import API, mount_of
from jobs.api.problems import as_ojs_error, error_response
from jobs.api.wire.answer import Answer
from jobs.api.wire.headers import (
    block_ms,
    check_content_type,
    check_version,
    chosen_request_id,
    client_address,
    content_length,
    stamp,
)
from jobs.conf import conf
from jobs.domain.access.caller import Caller
from jobs.domain.access.classified import SEEN, classification, redacted
from jobs.domain.access.permits import Required, Tenants
from jobs.domain.errors import (
    InvalidRequest,
    MethodNotAllowed,
    OJSError,
    PayloadTooLarge,
    PermissionDenied,
)
from jobs.domain.job import Job
from jobs.domain.wire import jsonio
from jobs.domain.wire.tracing import trace_context
from jobs.extensions import RequestHooks, implementers
from jobs.metrics import observe_request
from jobs.permits import table
from jobs.services.audit.audit import denied, record

try:
    from jobs.api.document import OperationSchema
except ImportError:  # without the extra `server` there is no OpenAPI document
    OperationSchema = DefaultSchema  # type: ignore[misc, assignment]


class OJSView(APIView):
    """Base of all endpoints. The table of permits has the rights that each operation requires.

    The id of an operation is at its method. `inherited` has the ids of methods that a view inherits
    from another view. Every method answers with an Answer; where DRF's types name its own Response
    the annotation is Any.
    """

    schema = OperationSchema()
    parser_classes = ()  # `body` reads it, with OJS errors
    renderer_classes = ()  # see `Answer`
    authentication_classes = ()
    permission_classes = ()
    throttle_classes = ()
    default_response_headers: ClassVar[dict[str, str]] = {}  # for DRF's Response, not used here
    inherited: ClassVar[Mapping[str, str]] = {}  # ids of operations, by method
    optional: ClassVar[str | None] = None  # operation whose permit adds to a public answer
    may_refuse: ClassVar[bool] = True  # by the request limiter: contract 27.3
    deepest: ClassVar[int] = jsonio.REQUEST_DEPTH  # levels of the body

    principal: Principal
    is_anybody: bool  # no key is required
    identity: str  # the request id
    began: float
    http: HttpRequest  # Django's own; DRF's takes a detour for each attribute
    allowance: Allowance
    answer_headers: dict[str, str]  # headers that services add to the answer
    span: Any = None  # of the request, which `complete` ends; None: no spans are made

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Answer within the span of the request, for DRF."""
        self.span = spans.serving(request.META, request.method or "")
        with spans.within(self.span):
            return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Run the product's checks instead of all of DRF's."""
        self.check(request.method or "")

    def check(self, sent: str) -> None:
        """Check version and access before the method of the request runs. Raises OJSError."""
        self._check_method()
        check_path(self.http)
        check_version(self.http)
        _check_query(self.http)
        method = "GET" if sent == "HEAD" else sent
        wanted = self.required(method)
        if wanted is not None:
            self.principal = self.admitted(wanted)
            self.is_anybody = self.principal is OPEN
            self.charge(1, enqueues=False)
        elif method != "OPTIONS" and method in self.allowed_methods:
            raise PermissionDenied(
                f"no permit allows {method} here"
            )  # the table lacks the operation

    def _check_method(self) -> None:
        """Refuse `get` for GET: methods are case-sensitive, and Django changes their case.

        Spec: RFC 9110 §9.1.
        """
        sent = str(self.http.META.get("REQUEST_METHOD", self.http.method))
        if sent != self.http.method:
            raise MethodNotAllowed.of(sent, self.allowed_methods)

    def admitted(self, wanted: Required) -> Principal:
        """Return the caller, narrowed to its tenant for this operation. Raises OJSError.

        A header that names a tenant narrows the caller to it, and so does the default tenant if the
        settings say so. An operation on all tenants refuses a narrowed caller.
        """
        principal = authenticate(self.http, wanted)
        if wanted.scope is None:
            return principal
        for extension in implementers(RequestHooks.tenant_of):
            tenant = extension.tenant_of(self.http.META)
            if tenant is not None:
                principal = principal.within(tenant)
        if wanted.tenants is Tenants.ALL:
            principal.require_any_tenant(wanted.operation)
        elif principal.tenant is None:
            for extension in implementers(RequestHooks.default_tenant):
                tenant = extension.default_tenant(wanted.scope)
                if tenant is not None:
                    principal = principal.within(tenant)
        return principal

    @classmethod
    def required(cls, method: str) -> Required | None:
        """Return the rights that a method requires; None: the permits lack its operation."""
        kind: Any = cls  # mypy considers a class of views unhashable
        return _required(kind, method)

    def require(self, operation: str) -> None:
        """Refuse a caller who lacks the permit of a part of this operation.

        Raises PermissionDenied.
        """
        self.principal.require(table().operations[operation])

    def path(self, below: str) -> str:
        """Return the path of a resource of the API, for answers; `below` is its own part."""
        return f"{mount_of(self.http)}{API}{below}"

    def as_seen(self, job: Job, *, is_listed: bool = False) -> Job:
        """Return a job as the caller may see it; access to a classified job is recorded.

        A user needs a permit for the arguments and the result of a classified job, and lists never
        show them. Keys are for software, which gets all.
        """
        word = None if self.principal.holds is None else classification(job)
        if word is None:
            return job
        if is_listed or not self.principal.sees_classified:
            return redacted(job)
        record(self.caller, SEEN, job.id, data={"classification": word})
        return job

    def may(self, operation: str) -> bool:
        """Return whether the caller may also use another operation."""
        try:
            self.admitted(table().operations[operation])
        except (OJSError, DatabaseError, InterfaceError):
            return False
        return True

    @property
    def caller(self) -> Caller:
        """The caller of services."""
        return Caller(
            self.principal.name,
            self.principal.tenant,
            self.principal.tenant if self.principal.is_narrowed else None,
            self.identity,
            block_ms(self.http),
            self.answer_headers,
            self.http.META.get("REMOTE_ADDR"),
            self._stamps(),
            asks=[
                option
                for extension in implementers(RequestHooks.request_options)
                for option in extension.request_options(self.http.META)
            ],
        )

    def _stamps(self) -> dict[str, str] | None:
        """Return the defaults that this request adds to its jobs. Spec: contract 32.2."""
        meta, found = self.http.META, {}
        if "HTTP_TRACEPARENT" in meta and conf().trace_inject:
            found = trace_context(meta["HTTP_TRACEPARENT"], meta.get("HTTP_TRACESTATE"))
        if conf().stamp_request_id:
            found["request_id"] = self.identity
        return found or None

    def charge(self, tokens: int, *, enqueues: bool) -> None:
        """Count the request, or its jobs, for its principal. Raises RateLimited."""
        if limits_requests():
            who = client_address(self.http) if self.is_anybody else self.principal.name
            self.allowance.charge(who, tokens, enqueues=enqueues, may_refuse=self.may_refuse)

    def body(self) -> dict[str, Any]:
        """Read the JSON object of the request. Raises InvalidPayload and friends."""
        return jsonio.loads_object(self.raw_body(), self.deepest)

    def optional_body(self) -> dict[str, Any]:
        """Read a body that may be missing; an empty one or null equals `{}`. Spec: contract 3.1."""
        raw = self.raw_body(needs_type=False)
        return jsonio.loads_object(raw, self.deepest) if raw.strip() not in {b"", b"null"} else {}

    def raw_body(self, *, needs_type: bool = True) -> bytes:
        """Read the bytes within the size limit, after checking type and encoding."""
        request = self.http
        length = content_length(request)
        if not length and "HTTP_TRANSFER_ENCODING" in request.META:
            length = _read_chunks(request)
        if length > conf().max_body_bytes:
            raise PayloadTooLarge.of("request body", conf().max_body_bytes, length)
        if length and request.META.get("HTTP_CONTENT_ENCODING", "identity") != "identity":
            raise InvalidRequest.field("Content-Encoding", "only identity is supported")
        if length or needs_type:
            check_content_type(request.META.get("CONTENT_TYPE", ""), has_body=bool(length))
        return request.body

    def handle_exception(self, exc: Exception) -> Any:
        """Render every problem in the OJS shape."""
        problem = as_ojs_error(exc, self.identity)
        if isinstance(problem, PermissionDenied):
            who = Caller(
                problem.principal, request_id=self.identity, address=client_address(self.http)
            )
            denied(who, self.http.path, str(problem.details.get("operation", problem.message)))
        return error_response(problem, self.identity)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Complete the answer for DRF."""
        match = self.http.resolver_match
        route = (match and match.url_name) or "unknown"
        pattern = match.route if match else ""
        return self.complete(response, request.method or "", route, pattern)

    def complete(self, answer: Answer, method: str, route: str, pattern: str) -> Answer:
        """Add the headers that every answer has, and count the request by its route's name.

        `pattern` is the route's path without values, for the span.
        """
        answer.choose_media_type(self.http)
        stamp(answer, self.identity, self.allowance.headers() | self.answer_headers)
        observe_request(method, route, answer.status_code, perf_counter() - self.began)
        if self.span is not None:
            spans.answered(self.span, method, f"/{pattern}", answer.status_code)
        return answer

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Begin for DRF."""
        self.begin(request)
        return Request(request)  # no parsers and authenticators of DRF

    def begin(self, request: HttpRequest) -> None:
        """Give the request its id before anything can fail."""
        self.identity = chosen_request_id(request)
        self.began = perf_counter()
        self.http = request
        self.allowance = Allowance()
        self.answer_headers = {}

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Answer 405 with Allow."""
        raise MethodNotAllowed.of(request.method or "", self.allowed_methods)

    def options(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Answer OPTIONS without a body."""
        return Answer(None, status=204, headers={"Allow": ", ".join(self.allowed_methods)})


@lru_cache(maxsize=4096)  # a client may send any word as its method
def _required(view: type[OJSView], method: str) -> Required | None:
    name = method.lower()
    if name not in view.http_method_names:
        return None
    described = getattr(getattr(view, name, None), "operation", None)
    operation = view.inherited.get(method) or getattr(described, "id", None)
    return table().operations.get(operation) if operation else None


def check_path(request: HttpRequest) -> None:
    """Refuse a path with U+0000, which the database cannot store. Raises InvalidRequest."""
    if "\0" in request.path_info:
        raise InvalidRequest.field("path", "must not contain the character U+0000")


def _check_query(request: HttpRequest) -> None:
    """Refuse parameters with U+0000, which the database cannot store."""
    if "%00" in request.META.get("QUERY_STRING", ""):
        for name, values in request.GET.lists():
            if any("\0" in value for value in values):
                raise InvalidRequest.field(name, "must not contain the character U+0000")


def _read_chunks(request: HttpRequest) -> int:
    """Read a body without a length, which Django considers empty; returns its size."""
    request._body = request.META["wsgi.input"].read(conf().max_body_bytes + 1)
    return len(request._body)
