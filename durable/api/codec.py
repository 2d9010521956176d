"""Decode and encode checkpoints, signals and suspensions. Spec: contract 34."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import orjson

from durable.conf import conf
from durable.domain.names import check_name, check_size
from durable.queries import Saved, Sent
from durable.services.checkpoints import Save
from jobs.api.wire import members
from jobs.domain.errors import InvalidRequest, PayloadTooLarge, Unprocessable
from jobs.domain.wire import jsonio
from jobs.domain.wire.bounds import MAX_INT, MAX_MS
from jobs.domain.wire.times import format_time, parse_time
from ojs_tasks.worker.ports import Suspend as Suspension

MAX_SIGNALS: Final = 100  # names that one step waits for
# the last: a signal id fits in the database's bigint
MAX_TAKEN, MAX_SIGNAL_ID = 100, 2**63 - 1


def decode_save(job_id: str, body: Mapping[str, Any]) -> Save:
    """Read a save. Raises Unprocessable without a state, PayloadTooLarge, InvalidRequest."""
    if "state" not in body:
        raise Unprocessable.field("state", "is required")
    state = jsonio.dumps(body["state"])
    if len(state) > conf().max_checkpoint_bytes:
        raise PayloadTooLarge.of("state", conf().max_checkpoint_bytes, len(state))
    return Save(
        job_id,
        state.decode(),
        members.worker_id(body),
        members.integer(body, "attempt", low=1, high=MAX_INT),
        _taken(body.get("signals_taken")),
        flag(body, "extend"),
    )


def flag(body: Mapping[str, Any], name: str) -> bool:
    """Read an optional boolean. Raises InvalidRequest."""
    raw = body.get(name, False)
    if not isinstance(raw, bool):
        raise InvalidRequest.field(name, "must be a boolean", raw)
    return raw


def _taken(raw: object) -> tuple[int, ...]:
    if raw is None:
        return ()
    if not isinstance(raw, list) or len(raw) > MAX_TAKEN:
        rule = f"must be an array of at most {MAX_TAKEN} ids of signals"
        raise InvalidRequest.field("signals_taken", rule, raw)
    return tuple(_signal_id(one) for one in raw)


def _signal_id(raw: object) -> int:
    if isinstance(raw, float) and raw.is_integer():
        raw = int(raw)
    if not isinstance(raw, int) or isinstance(raw, bool) or not 0 < raw <= MAX_SIGNAL_ID:
        raise InvalidRequest.field("signals_taken", "must hold ids of signals", raw)
    return raw


def encode_saved(job_id: str, state: str, saved: Saved) -> dict[str, Any]:
    """Encode the answer to a save."""
    return encode_checkpoint(job_id, orjson.Fragment(state), saved.sequence, saved.created_at)


def encode_checkpoint(job_id: str, state: Any, sequence: int, at: datetime) -> dict[str, Any]:
    """Encode a checkpoint, flat and wrapped."""
    wrapped = {"job_id": job_id, "sequence": sequence, "created_at": format_time(at)}
    return {**wrapped, "state": state, "checkpoint": wrapped}


def decode_payload(body: Mapping[str, Any]) -> str:
    """Read the payload of a signal, as JSON text; null without one. Raises PayloadTooLarge."""
    payload = jsonio.dumps(body.get("payload"))
    check_size(len(payload))
    return payload.decode()


def encode_sent(job_id: str, name: str, sent: Sent) -> dict[str, Any]:
    """Encode the answer to a signal."""
    return {
        "job_id": job_id,
        "id": sent.id,
        "name": name,
        "sent_at": format_time(sent.sent_at),
        "woken": sent.wakes,
    }


def decode_suspension(job_id: str, body: Mapping[str, Any]) -> Suspension:
    """Read a suspension. Raises InvalidRequest."""
    signals = [] if body.get("signals") is None else body["signals"]
    if not isinstance(signals, list) or len(signals) > MAX_SIGNALS:
        rule = f"must be an array of at most {MAX_SIGNALS} names"
        raise InvalidRequest.field("signals", rule, signals)
    return Suspension(
        job_id,
        check_name("step", body.get("step")),
        _until(body),
        tuple(dict.fromkeys(check_name("signals", one) for one in signals)),
        members.worker_id(body),
        members.integer(body, "attempt", low=1, high=MAX_INT),
        None if body.get("started_at") is None else parse_time(body["started_at"], "started_at"),
    )


def _until(body: Mapping[str, Any]) -> datetime:
    latest = datetime.now(UTC) + timedelta(milliseconds=MAX_MS)
    if body.get("until") is None:
        return latest
    return min(parse_time(body["until"], "until"), latest)
