"""Runs a published conformance case, a JSON document, against a live server."""

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx

MEDIA_TYPE = "application/openjobspec+json"
MISSING = object()
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
DATETIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
REFERENCE = re.compile(
    r"\{\{\s*steps\.([\w-]+)\.response\.(body|status)\.?([^}]*?)\s*\}\}|\{\{\s*(\w+)\s*\}\}|\$\{(\w+)\}"
)
KNOWN_ASSERTIONS = {
    "status", "status_in", "status_one_of", "body", "body_absent", "body_contains", "headers",
    "timing_ms", "exclusive_claim", "equality",
}  # fmt: skip


# --- values ---------------------------------------------------------------------------------------


def lookup(path: str, value: Any) -> Any:  # noqa: C901 - one branch for each form of a path
    """Return the value at a JSONPath subset (`$.a.b[0]`, `[*]`, `[?(@.k=='v')]`), or MISSING."""
    tokens = re.findall(
        r"\[\?\(@\.([\w.]+)\s*==\s*'?([^')]*)'?\)\]|\[(\d+|\*)\]|([^.\[\]]+)",
        path.removeprefix("$"),
    )
    for position, (filter_key, filter_value, index, key) in enumerate(tokens):
        if filter_key:
            items = value if isinstance(value, list) else []
            value = next((i for i in items if str(lookup(filter_key, i)) == filter_value), MISSING)
        elif index == "*":
            rest = "".join(_spell(t) for t in tokens[position + 1 :])
            parts = [lookup("$" + rest, i) for i in (value if isinstance(value, list) else [])]
            return [part for part in parts if part is not MISSING]
        elif index:
            value = (
                value[int(index)]
                if isinstance(value, list) and int(index) < len(value)
                else MISSING
            )
        elif isinstance(value, dict):
            # a key may contain dots (`ojs.federation.region`): the longest match counts
            keys = [t[3] for t in tokens[position:] if t[3]]
            for length in range(len(keys), 1, -1):
                if ".".join(keys[:length]) in value and all(
                    t[3] for t in tokens[position : position + length]
                ):
                    tail = "".join(_spell(t) for t in tokens[position + length :])
                    return lookup("$" + tail, value[".".join(keys[:length])])
            value = value.get(key, MISSING)
        else:
            value = MISSING
        if value is MISSING:
            return MISSING
    return value


def _spell(token: tuple[str, str, str, str]) -> str:
    filter_key, filter_value, index, key = token
    if filter_key:
        return f"[?(@.{filter_key}=='{filter_value}')]"
    return f"[{index}]" if index else f".{key}"


def equal(expected: Any, actual: Any) -> bool:
    if isinstance(expected, bool) or isinstance(actual, bool):
        return expected is actual
    if isinstance(expected, (int, float)) and isinstance(actual, (int, float)):
        return expected == actual
    return type(expected) is type(actual) and expected == actual


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def json_type(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    return {int: "number", float: "number", str: "string", list: "array", dict: "object"}[
        type(value)
    ]


# --- matchers: each returns True when `actual` (possibly MISSING) is acceptable -------------------

SIMPLE: dict[str, Callable[[Any], bool]] = {
    "any": lambda v: v is not MISSING and v is not None,
    "exists": lambda v: v is not MISSING,
    "absent": lambda v: v is MISSING or v is None,
    "string:nonempty": lambda v: isinstance(v, str) and v != "",
    "string:non_empty": lambda v: isinstance(v, str) and v != "",
    "string:uuid": lambda v: isinstance(v, str) and bool(UUID.fullmatch(v)),
    "string:uuidv7": lambda v: isinstance(v, str) and bool(UUID7.fullmatch(v)),
    "string:datetime": lambda v: isinstance(v, str) and bool(DATETIME.fullmatch(v)),
    "number:positive": lambda v: is_number(v) and v > 0,
    "number:non_negative": lambda v: is_number(v) and v >= 0,
    "array:nonempty": lambda v: isinstance(v, list) and len(v) > 0,
    "array:empty": lambda v: isinstance(v, list) and not v,
}
PATTERNS: list[tuple[re.Pattern[str], Callable[[re.Match[str], Any], bool]]] = [
    (re.compile(r"string:contains:(.*)", re.S), lambda m, v: isinstance(v, str) and m[1] in v),
    (
        re.compile(r"string:pattern\((.*)\)", re.S),
        lambda m, v: isinstance(v, str) and bool(re.search(m[1], v)),
    ),
    (
        re.compile(r"number:range\(([-\d.]+),\s*([-\d.]+)\)"),
        lambda m, v: is_number(v) and float(m[1]) <= v <= float(m[2]),
    ),
    (
        re.compile(r"one_of:(.*)"),
        lambda m, v: v is not MISSING and str(v) in [x.strip() for x in m[1].split(",")],
    ),
    (
        re.compile(r"array:length[:(](\d+)\)?"),
        lambda m, v: isinstance(v, list) and len(v) == int(m[1]),
    ),
    (
        re.compile(r"array:min(?:_length)?[:(](\d+)\)?"),
        lambda m, v: isinstance(v, list) and len(v) >= int(m[1]),
    ),
    (
        re.compile(r"not_contains:(.*)"),
        lambda m, v: isinstance(v, list) and m[1] not in [str(i) for i in v],
    ),
    (
        re.compile(r"contains:(.*)"),
        lambda m, v: isinstance(v, list) and m[1] in [str(i) for i in v],
    ),
    (
        re.compile(r"~([\d.]+)"),
        lambda m, v: is_number(v) and abs(v - float(m[1])) <= max(float(m[1]) / 2, 100),
    ),
]


def matches(matcher: Any, actual: Any) -> bool:
    if isinstance(matcher, str):
        if matcher in SIMPLE:
            return SIMPLE[matcher](actual)
        for pattern, accept in PATTERNS:
            if found := pattern.fullmatch(matcher):
                return accept(found, actual)
        return equal(matcher, actual)
    if isinstance(matcher, list):
        return (
            isinstance(actual, list)
            and len(actual) == len(matcher)
            and all(map(matches, matcher, actual))
        )
    if isinstance(matcher, dict):
        return matches_object(matcher, actual)
    return actual is not MISSING and equal(matcher, actual)


def matches_object(matcher: dict[str, Any], actual: Any) -> bool:
    present = actual is not MISSING
    operators: dict[str, Callable[[Any], bool]] = {
        "$exists": lambda want: (present and actual is not None) == want,
        "$type": lambda want: not present or json_type(actual) == want,
        "$match": lambda want: isinstance(actual, str) and bool(re.search(want, actual)),
        "$eq": lambda want: present and equal(want, actual),
        "$in": lambda want: any(matches(w, actual) for w in want),
        "$or": lambda want: any(matches(w, actual) for w in want),
        "$size": lambda want: (
            isinstance(actual, list)
            and (len(actual) >= want["$gte"] if isinstance(want, dict) else len(actual) == want)
        ),
        "$gte": lambda want: is_number(actual) and actual >= want,
        "$empty": lambda want: (not present or actual in (None, {}, [], "")) == want,
        "range": lambda want: (
            is_number(actual) and want.get("min", actual) <= actual <= want.get("max", actual)
        ),
    }
    if any(key in operators for key in matcher):
        if unknown := set(matcher) - set(operators):
            raise ValueError(f"unknown operator {sorted(unknown)}")
        return all(operators[key](want) for key, want in matcher.items())
    return isinstance(actual, dict) and all(
        matches(m, actual.get(k, MISSING)) for k, m in matcher.items()
    )


# --- one case -------------------------------------------------------------------------------------


@dataclass
class Answer:
    status: int = 0
    body: Any = None
    text: str = ""
    headers: httpx.Headers = field(default_factory=httpx.Headers)
    elapsed_ms: float = 0.0
    sent: str = ""


def _assertions(expect: dict[str, Any]) -> dict[str, Any]:
    """Return the assertions of a checkpoint case, which has `body.state.step` beside `status`."""
    body = {
        "$." + key.removeprefix("body."): wanted
        for key, wanted in expect.items()
        if key.startswith("body.")
    }
    return {key: wanted for key, wanted in expect.items() if not key.startswith("body.")} | (
        {"body": body} if body else {}
    )


class Case:
    def __init__(self, data: dict[str, Any], client: httpx.Client) -> None:
        self.data, self.client = data, client
        self.answers: dict[str, Answer] = {}
        self.captured: dict[str, Any] = {}
        self.failures: list[str] = []

    def run(self) -> list[str]:
        for part in ("setup", "steps", "teardown"):
            block = self.data.get(part) or []
            steps = block.get("steps", []) if isinstance(block, dict) else block
            position = 0
            while position < len(steps):
                group = [steps[position]]
                while "parallel_with" in group[-1] and position + len(group) < len(steps):
                    following = steps[position + len(group)]
                    if "parallel_with" not in following:
                        break
                    group.append(following)
                self._perform(group)
                position += len(group)
        return self.failures

    def _perform(self, group: list[dict[str, Any]]) -> None:
        threads = [threading.Thread(target=self._step, args=(step,)) for step in group]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _step(self, step: dict[str, Any]) -> None:
        name = step.get("id") or step.get("action", "?")
        try:
            self._try_step(step, name)
        except Exception as error:  # an error of the case or the connection fails only this case
            self.failures.append(f"{name}: {type(error).__name__}: {error}")

    def _try_step(self, step: dict[str, Any], name: str) -> None:
        time.sleep(step.get("delay_ms", 0) / 1000)
        action = step["action"]
        if action.upper() == "WAIT":
            time.sleep(step.get("duration_ms", 0) / 1000)
            return
        if action.upper() == "ASSERT":
            self._check(step.get("assertions") or {}, Answer(), name)
            return
        if "expect" in step and "path" not in step:
            self._verb_step(step, name)
            return
        for _ in range(step.get("repeat", 1)):
            body = step.get("raw_body", MISSING)
            if body is MISSING and "body" in step:
                body = json.dumps(self._fill(step["body"]))
            answer = self._send(
                action,
                self._fill(step["path"]),
                None if body is MISSING else body,
                step.get("headers"),
            )
            self.answers[name] = answer
            self._check(
                step.get("assertions") or _assertions(step.get("expect") or {}), answer, name
            )
        for variable, path in {
            **(step.get("capture") or {}),
            **(step.get("captures") or {}),
        }.items():
            self.captured[variable] = lookup(path, answer.body)

    def _verb_step(self, step: dict[str, Any], name: str) -> None:  # noqa: C901 - one branch each
        """Do a step in the short form: push, get, fetch or ack with `request` and `expect`."""
        request = {key: self._captured(value) for key, value in step["request"].items()}
        if step["action"] == "push":
            # the HTTP binding sends queue and priority in `options`
            options = {k: request.pop(k) for k in ("queue", "priority") if k in request}
            method, path, body = "POST", "/ojs/v1/jobs", {**request, "options": options}
        elif step["action"] == "get":
            method, path, body = "GET", f"/ojs/v1/jobs/{request['id']}", None
        elif step["action"] == "fetch":
            method, path, body = "POST", "/ojs/v1/workers/fetch", request
        else:
            method, path, body = (
                "POST",
                "/ojs/v1/workers/ack",
                {"job_id": request.pop("id"), **request},
            )
        answer = self._send(method, path, None if body is None else json.dumps(body), None)
        base = answer.body.get("job", answer.body) if isinstance(answer.body, dict) else answer.body
        if answer.status != step["expect"]["status"]:
            self._fail(name, answer, "status", step["expect"]["status"], answer.status)
        for path, matcher in (step["expect"].get("body") or {}).items():
            pairs = [(path, matcher)]
            if isinstance(matcher, dict):
                pairs = [(f"{path}.{key}", value) for key, value in matcher.items()]
            for spelled, wanted in pairs:
                actual = lookup("$." + spelled, base)
                if not matches(wanted, actual):
                    self._fail(name, answer, spelled, wanted, actual)
        for variable, path in (step.get("store") or {}).items():
            self.captured[variable] = lookup("$." + path, base)

    def _captured(self, value: Any) -> Any:
        is_reference = isinstance(value, str) and value.startswith("$ref.")
        return self.captured.get(value[5:], value) if is_reference else value

    def _send(
        self, method: str, path: str, body: str | None, headers: dict[str, str] | None
    ) -> Answer:
        sent_headers = dict(headers or {})
        if body is not None and not any(k.lower() == "content-type" for k in sent_headers):
            sent_headers["Content-Type"] = MEDIA_TYPE
        started = time.perf_counter()
        response = self.client.request(method, path, content=body, headers=sent_headers)
        elapsed = (time.perf_counter() - started) * 1000
        try:
            parsed = response.json() if response.content else None
        except ValueError:
            parsed = None
        sent = f"{method} {path} {body or ''}"
        return Answer(response.status_code, parsed, response.text, response.headers, elapsed, sent)

    def _fill(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: self._fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self._fill(item) for item in value]
        if not isinstance(value, str):
            return value
        if whole := REFERENCE.fullmatch(value):
            found = self._resolve(whole)
            return value if found is MISSING else found
        return REFERENCE.sub(
            lambda m: m[0] if self._resolve(m) is MISSING else str(self._resolve(m)), value
        )

    def _resolve(self, reference: re.Match[str]) -> Any:
        step, part, path, *variables = reference.groups()
        if variable := next(filter(None, variables), None):
            return self.captured.get(variable, MISSING)
        if step not in self.answers:
            return MISSING
        answer = self.answers[step]
        return answer.status if part == "status" else lookup(path, answer.body)

    # --- assertions ---

    def _check(self, assertions: dict[str, Any], answer: Answer, name: str) -> None:  # noqa: C901 - one branch for each kind of assertion
        unknown = {
            k for k in assertions if k not in KNOWN_ASSERTIONS and not k.endswith("_comment")
        }
        if unknown:
            self.failures.append(f"{name}: unknown assertion {sorted(unknown)}")
        if "status" in assertions and not matches(assertions["status"], answer.status):
            self._fail(name, answer, "status", assertions["status"], answer.status)
        for key in ("status_in", "status_one_of"):
            if key in assertions and answer.status not in assertions[key]:
                self._fail(name, answer, "status", assertions[key], answer.status)
        self._check_body(assertions.get("body"), answer, name)
        for path in assertions.get("body_absent", []):
            if lookup(path, answer.body) not in (MISSING, None):
                self._fail(name, answer, path, "absent", lookup(path, answer.body))
        for text in assertions.get("body_contains", []):
            if text not in answer.text:
                self._fail(name, answer, "body", f"contains {text!r}", answer.text)
        for header, wanted in (assertions.get("headers") or {}).items():
            if not matches(wanted, answer.headers.get(header, MISSING)):
                self._fail(
                    name, answer, f"header {header}", wanted, answer.headers.get(header, MISSING)
                )
        self._check_timing(assertions.get("timing_ms") or {}, answer, name)
        self._check_across(assertions, answer, name)

    def _check_body(self, wanted: Any, answer: Answer, name: str) -> None:
        if wanted is None:
            return
        if not isinstance(wanted, dict):
            if not matches(wanted, answer.body):
                self._fail(name, answer, "body", wanted, answer.body)
            return
        for path, matcher in wanted.items():
            if path == "$or":
                if not any(self._all_match(alternative, answer) for alternative in matcher):
                    self._fail(name, answer, "$or", matcher, answer.body)
                continue
            actual = lookup(self._fill(path), answer.body)
            if not matches(self._fill(matcher), actual):
                self._fail(name, answer, path, self._fill(matcher), actual)

    def _all_match(self, wanted: dict[str, Any], answer: Answer) -> bool:
        if "$empty" in wanted:
            return bool((answer.body in (None, {}, [])) == wanted["$empty"])
        found = ((m, lookup(self._fill(p), answer.body)) for p, m in wanted.items())
        return all(matches(self._fill(m), value) for m, value in found)

    def _check_timing(self, wanted: dict[str, float], answer: Answer, name: str) -> None:
        took = answer.elapsed_ms
        fine = {
            "less_than": lambda n: took < n,
            "greater_than": lambda n: took > n,
            "approximate": lambda n: abs(took - n) <= max(n / 2, 100),
        }
        for key, number in wanted.items():
            if not fine[key](number):
                self._fail(name, answer, f"time {key}", number, round(took, 1))

    def _check_across(self, assertions: dict[str, Any], answer: Answer, name: str) -> None:
        if claim := assertions.get("exclusive_claim"):
            job_id = self._fill(claim["job_id"])
            fetches = [f if isinstance(f, list) else [] for f in map(self._fill, claim["fetches"])]
            holders = sum(any(job.get("id") == job_id for job in jobs) for jobs in fetches)
            empty = sum(not jobs for jobs in fetches)
            if holders != 1 or (claim.get("exactly_one_empty") and empty != 1):
                self._fail(
                    name,
                    answer,
                    "exclusive_claim",
                    "one holder",
                    f"{holders} holders, {empty} empty",
                )
        for left, right in (assertions.get("equality") or {}).items():
            step = left.removeprefix("$.steps.").split(".response.body")[0]
            ours, theirs = self.answers[step].body, self._fill(right)
            if ours != theirs:
                self._fail(name, answer, f"equality of {left}", ours, theirs)

    def _fail(self, name: str, answer: Answer, what: str, wanted: Any, actual: Any) -> None:
        shown = "<missing>" if actual is MISSING else json.dumps(actual, default=str)[:300]
        body = answer.text[:400].replace("\n", " ")
        self.failures.append(
            f"{name}: {what}: wanted {json.dumps(wanted, default=str)[:300]}, got {shown}\n"
            f"      sent {answer.sent[:300]}\n      answer {answer.status} {body}"
        )
