"""What producers do at a server: scripts of calls."""

import random
from collections.abc import Sequence
from http import HTTPStatus
from math import inf
from threading import BoundedSemaphore
from time import monotonic
from typing import Any, Final
from urllib.parse import quote

from ojs_tasks.exceptions import JobNotFound, ResultTimeout, ServerUnreachable
from ojs_tasks.flows import ENDED as FLOW_ENDED
from ojs_tasks.remote.errors import ServerRefused, refusal
from ojs_tasks.remote.exchange import Answered, Call, Follow, Pause, Reply, Script, asked
from ojs_tasks.remote.wire import dumps, of_draft, snapshot
from ojs_tasks.server import ENDED, Draft, Snapshot

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 1.0  # between looks while the server holds no request
HELD_S: Final = 20  # how long the server may hold a request
ANSWER_S: Final = 10.0  # for the answer after that
MOST_HELD: Final = 20  # requests of a process: further waits follow streams, or pause
FOLLOWED_S: Final = 15.0  # how long to follow a stream between two looks


def enqueue(drafts: Sequence[Draft], retries: int) -> Script[list[Snapshot | None]]:
    """Store jobs that have ids, all or none, in order; None for a dropped job.

    The ids make a repetition harmless: the server refuses an id that it has.
    """
    if not drafts:
        return []
    if len(drafts) == 1:
        return [(yield from _enqueue_one(drafts[0], retries))]
    call = Call("POST", "jobs/batch", dumps({"jobs": list(drafts)}))
    answered = yield from asked(call, retries)
    if answered.reply.is_success:
        return _placed(answered.reply, len(drafts))
    if not _is_ours(answered, drafts):
        raise refused(answered.reply)
    found: list[Snapshot | None] = []
    for draft in drafts:
        found.append((yield from _stored(draft, retries)))
    return found


def _enqueue_one(draft: Draft, retries: int) -> Script[Snapshot | None]:
    answered = yield from asked(Call("POST", "jobs", dumps(draft)), retries)
    if answered.reply.is_success:
        body = answered.reply.body
        if isinstance(body, dict) and body.get("dropped") is True:
            return None
        return _shown(answered.reply)
    if _is_ours(answered, [draft]):
        return (yield from _stored(draft, retries))
    raise refused(answered.reply)


def _is_ours(answered: Answered, drafts: Sequence[Draft]) -> bool:
    """Return whether the server refuses an id because an earlier try of this call stored it."""
    reply = answered.reply
    ids = {draft["id"] for draft in drafts}
    return (
        answered.is_repeat
        and reply.status == HTTPStatus.CONFLICT
        and reply.code == "duplicate"
        and reply.details.get("existing_job_id") in ids
    )


def _stored(draft: Draft, retries: int) -> Script[Snapshot | None]:
    """Return a job of a call whose answer was lost."""
    reply = (yield from asked(Call("GET", _path(draft["id"])), retries)).reply
    if reply.is_success:
        return _shown(reply)
    if reply.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:  # the key only enqueues
        return of_draft(draft, "available")
    if reply.status != HTTPStatus.NOT_FOUND:
        raise refused(reply)
    # The batch was stored without this job. Either its unique policy found another job, and the
    # server shows that one again, or enqueue middleware dropped it.
    return (yield from _enqueue_one(draft, retries)) if draft.get("unique") else None


def _placed(reply: Reply, number: int) -> list[Snapshot | None]:
    body = reply.body if isinstance(reply.body, dict) else {}
    dropped = set(body.get("dropped") or ())
    shown = iter(body.get("jobs") or ())
    return [None if n in dropped else snapshot(next(shown, None)) for n in range(number)]


def read(job_id: str, retries: int) -> Script[Snapshot]:
    """Return the present state of a job. Raises JobNotFound."""
    reply = (yield from asked(Call("GET", _path(job_id)), retries)).reply
    if not reply.is_success:
        raise _problem(reply, job_id)
    return _shown(reply)


def cancel(job_id: str, retries: int) -> Script[Snapshot]:
    """Cancel a job. Raises JobNotFound, or Refused when it has ended."""
    answered = yield from asked(Call("DELETE", _path(job_id)), retries)
    if answered.reply.is_success:
        return _shown(answered.reply)
    if answered.is_repeat and answered.reply.status == HTTPStatus.CONFLICT:
        shown = yield from read(job_id, retries)
        if shown.state == "cancelled":  # by the try whose answer was lost
            return shown
    raise _problem(answered.reply, job_id)


def signal(job_id: str, name: str, payload: Any, retries: int) -> Script[None]:
    """Send a signal once: a second one would not be the same. Raises as `cancel`."""
    body = dumps({"payload": payload})
    path = f"{_path(job_id)}/signals/{quote(name, safe='')}"
    doubt = "the signal may have been sent"
    call = Call("POST", path, body, is_repeatable=False, doubt=doubt)
    answered = yield from asked(call, retries)
    if not answered.reply.is_success:
        raise _problem(answered.reply, job_id)


class Offers:
    """Ways to wait that a server offers, as far as this process has learnt, and their bound."""

    def __init__(self) -> None:
        """Begin with the hope for all of them."""
        self.streams = True
        self._free = BoundedSemaphore(MOST_HELD)

    def take(self) -> bool:
        """Take one of the requests that this server may hold; returns whether one was free.

        Held requests take connections: without a bound they would keep enqueues from the server.
        """
        return self._free.acquire(blocking=False)

    def give_back(self) -> None:
        """Give the request back."""
        self._free.release()


def wait(job_id: str, timeout_s: float | None, retries: int, offers: Offers) -> Script[Snapshot]:
    """Return a job after its end. Raises ResultTimeout, or JobNotFound.

    After the first look the server may be away for a while: the wait goes on.
    """
    until = inf if timeout_s is None else monotonic() + timeout_s
    pause_s = FIRST_PAUSE_S
    shown = yield from read(job_id, retries)
    while not shown.has_ended:
        left_s = until - monotonic()
        if left_s <= 0:
            raise ResultTimeout(f"job {job_id} is {shown.state} after {timeout_s:g} s")
        if not (yield from held(f"{_path(job_id)}/result", left_s, offers)):
            yield from _follow(job_id, min(pause_s, left_s), left_s, offers)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
        found = yield from _look(job_id)
        if found is None:  # the server is away: it may have answered the held request before
            yield pause(LONGEST_PAUSE_S)
        shown = found or shown
    return shown


def held(path: str, left_s: float, offers: Offers) -> Script[bool]:
    """Let the server hold a request until the end of a job or workflow.

    Returns False if it did not: the caller pauses before it looks again. Otherwise the end has
    come, or some seconds have passed.
    """
    seconds = int(min(left_s, HELD_S))
    if not seconds or not offers.take():
        return False
    began = monotonic()
    try:
        call = Call("GET", f"{path}?wait=true&timeout={seconds}", timeout_s=seconds + ANSWER_S)
        reply = yield from glance(call)
    finally:
        offers.give_back()
    if reply is None or not reply.is_success:
        return False
    return _has_ended(reply) or monotonic() - began >= seconds / 2


def _has_ended(reply: Reply) -> bool:
    """Return whether an answer shows the end of a job or workflow."""
    body = reply.body if isinstance(reply.body, dict) else {}
    return body.get("state") in ENDED | FLOW_ENDED


def _follow(job_id: str, pause_s: float, left_s: float, offers: Offers) -> Script[None]:
    """Wait until the next look is due: by the job's event stream, at least for a pause.

    The server gives a stream a thread of its own, so it takes many more of them than held requests.
    """
    began = monotonic()
    if offers.streams and offers.take():
        try:
            offers.streams = yield Follow(f"{_path(job_id)}/events", min(left_s, FOLLOWED_S))
        finally:
            offers.give_back()
    if monotonic() - began < pause_s:
        yield pause(pause_s)


def pause(seconds: float) -> Pause:
    """Return a pause of about this length, so that the looks of many waits spread."""
    return Pause(seconds * (0.75 + random.random() / 4))  # noqa: S311 - no secret


def _look(job_id: str) -> Script[Snapshot | None]:
    """Return a job's state; None if the server does not answer at present."""
    reply = yield from glance(Call("GET", _path(job_id)))
    if reply is None:
        return None
    if reply.is_success:
        return _shown(reply)
    raise _problem(reply, job_id)


def glance(call: Call) -> Script[Reply | None]:
    """Return the answer to one look; None if the server does not answer at present."""
    try:
        reply = (yield from asked(call, 0)).reply
    except ServerUnreachable:
        return None
    return None if not reply.is_success and refused(reply).retryable else reply


def _path(job_id: str) -> str:
    return f"jobs/{quote(job_id, safe='')}"


def _shown(reply: Reply) -> Snapshot:
    body = reply.body if isinstance(reply.body, dict) else {}
    return snapshot(body.get("job"), deduplicated=body.get("deduplicated") is True)


def _problem(reply: Reply, job_id: str) -> Exception:
    if reply.status == HTTPStatus.NOT_FOUND and reply.code == "not_found":
        return JobNotFound(f"job {job_id} does not exist")
    return refused(reply)


def refused(reply: Reply) -> ServerRefused:
    """Return the error of an answer that is no success."""
    return refusal(reply.status, reply.body, reply.retry_after_s)
