"""Encode what a job stores between its attempts: checkpoints, step results and signals.

Names, states and times of steps stay plain, so that operators see where a job stands. The member
`__rest` has the encoded checkpoint of a handler that has steps, too. Spec: contract 35.
"""

from collections.abc import Mapping
from typing import Any, Final

from ojs_tasks.codecs.choices import chosen
from ojs_tasks.codecs.coding import RESULT as UNBOUND
from ojs_tasks.codecs.coding import Coding, facts_of
from ojs_tasks.codecs.errors import CodecFailed
from ojs_tasks.codecs.payload import is_encoded, wrapped
from ojs_tasks.documents import dumps
from ojs_tasks.stored import ORPHANS, REST, RESULT, STEPS

OF_STEPS: Final = frozenset({STEPS, ORPHANS})


class StateCoding:
    """The codecs for the state of one job. It changes nothing for a type that stays plain."""

    def __init__(self, coding: Coding, meta: Mapping[str, Any], job_type: str) -> None:
        """Take the codecs of the project, and the job."""
        self._coding = coding
        self._facts = facts_of(meta, job_type)
        self._is_plain = not coding.encodes_state or chosen(job_type).is_plain

    def checkpoint(self, state: Any) -> Any:
        """Return a checkpoint without steps as it is stored. Raises ValueError, CodecKeyUnknown."""
        return self._coded(state)

    def rest(self, members: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the handler's own members of a checkpoint with steps as they are stored."""
        if self._is_plain or not members:
            return members
        coded = self._coded(dict(members))
        return {REST: coded} if is_encoded(coded) else members

    def record(self, record: dict[str, Any]) -> dict[str, Any]:
        """Return the record of a step as it is stored."""
        if self._is_plain or record.get(RESULT) is None:
            return record
        return {**record, RESULT: self._coded(record[RESULT])}

    def decoded(self, state: Any) -> Any:
        """Return a stored checkpoint as it was before. Raises CodecFailed or CodecKeyUnknown."""
        if is_encoded(state):
            return self._value(state)
        if not isinstance(state, Mapping) or OF_STEPS.isdisjoint(state):
            return state
        found = {name: value for name, value in state.items() if name != REST}
        if is_encoded(rest := state.get(REST)):
            found |= self._members(rest)
        elif rest is not None:
            found[REST] = rest
        if isinstance(steps := state.get(STEPS), Mapping):
            found[STEPS] = {name: self._record(one) for name, one in steps.items()}
        return found

    def signal(self, payload: Any) -> Any:
        """Return the payload of a signal as it was sent. Raises CodecFailed or CodecKeyUnknown."""
        return self._coding.value(payload, UNBOUND)

    def _record(self, record: Any) -> Any:
        if not isinstance(record, Mapping) or not is_encoded(record.get(RESULT)):
            return record
        return {**record, RESULT: self._value(record[RESULT])}

    def _members(self, rest: Any) -> Mapping[str, Any]:
        found = self._value(rest)
        if not isinstance(found, Mapping):
            raise CodecFailed("the encoded members of the checkpoint are no object")
        return found

    def _value(self, value: Any) -> Any:
        return self._coding.value(value, self._facts)

    def _coded(self, value: Any) -> Any:
        if self._is_plain or value is None:
            return value
        payload = self._coding.encode(dumps(value), self._facts)
        return value if payload is None else wrapped(payload)


def coded_signal(coding: Coding, payload: Any) -> Any:
    """Return the payload of a signal as it is stored. Its sender does not know the job's type."""
    if not coding.encodes_state or payload is None:
        return payload
    found = coding.encode(dumps(payload), UNBOUND)
    return payload if found is None else wrapped(found)
