"""The history of the configuration, and restores of its versions. docs/undo.md."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from rest_framework.request import Request

from jobs.api.base import OJSView
from jobs.api.may_lag import may_lag
from jobs.api.openapi import operation
from jobs.api.schemas import ANY, BOOLEAN, OBJECT, TIME, array, component, integer, maybe, obj, text
from jobs.api.wire.admin import (
    SINCE,
    list_of,
    listed,
    moment,
    optional_text,
    plain,
    require_confirm,
)
from jobs.api.wire.answer import Answer
from jobs.api.wire.paging import NUMBERED, admin_page
from jobs.domain.access.caller import MAX_REASON
from jobs.domain.access.permits import Permit, Required
from jobs.domain.errors import InvalidRequest, NotFound
from jobs.domain.record.differences import Difference, differences
from jobs.domain.wire.times import format_time
from jobs.models import ConfigChange
from jobs.permits import table
from jobs.services.operate import history

RESTORE: Final = "restoreConfigVersion"
CHANGE = component(
    "ConfigurationChange",
    obj(
        {
            "id": integer(1),
            "at": TIME,
            "kind": text(1),
            "name": text(1),
            "tenant": maybe(text(1)),
            "actor": text(),
            "action": text(1),
            "reason": maybe(text()),
            "before": {**maybe(OBJECT), "description": "null: the object did not exist"},
            "after": {**maybe(OBJECT), "description": "null: the object was deleted"},
            "restored": {
                **maybe(integer(1)),
                "description": "The change whose version it restored",
            },
        }
    ),
)
DIFFERENCE = obj(
    {
        "path": {**text(1), "description": "Names from the top, such as limits.max_queues"},
        "before": ANY,
        "after": ANY,
        "added": BOOLEAN,
        "removed": BOOLEAN,
    }
)
DETAIL = obj(
    {
        "change": CHANGE,
        "differences": {**array(DIFFERENCE), "description": "Between before and after"},
        "restore": obj(
            {
                "expected": {**text(1), "description": "Identifies the present configuration"},
                "differences": {
                    **array(DIFFERENCE),
                    "description": "Between the present configuration and this version",
                },
            }
        ),
    }
)
NUMBER = {"change": integer(1)}


class ConfigHistory(OJSView):
    """The changes of the configuration."""

    @may_lag
    @operation(
        "listConfigHistory",
        {200: list_of(CHANGE, "changes")},
        query={
            "kind": text(), "name": text(), "tenant": text(), "actor": text(), "since": SINCE,
            "until": SINCE, **NUMBERED,
        },
    )  # fmt: skip
    def get(self, request: Request) -> Answer:
        """List changes, latest first; counted up to 10,000."""
        window = admin_page(request)
        names = {name: plain(request, name) or "" for name in ("kind", "name", "tenant", "actor")}
        if names["kind"] and names["kind"] not in history.kinds():
            rule = f"must be one of {', '.join(sorted(history.kinds()))}"
            raise InvalidRequest.field("kind", rule, names["kind"][:100])
        wanted = history.HistoryFilter(
            kinds=tuple(name for name, kind in history.kinds().items() if self._sees(kind.see)),
            since=moment(request, "since"),
            until=moment(request, "until"),
            **names,
        )
        found, total = history.listed(wanted, limit=window.limit, offset=window.offset)
        items = [_encode(one) for one in found]
        is_estimate = total >= history.MOST
        return Answer(listed(items, total, window, "changes", is_estimate=is_estimate))

    def _sees(self, permit: str) -> bool:
        return sees(self, table().named[permit])


def sees(view: OJSView, permit: Permit) -> bool:
    """Return whether the caller may see a kind; a key with the scope of the list sees all kinds."""
    holds = view.principal.holds
    return holds is None or all(map(holds, permit.permissions))


class ConfigChangeDetail(OJSView):
    """One change of the configuration."""

    @operation("getConfigChange", {200: DETAIL}, path=NUMBER, refusals=(404,))
    def get(self, request: Request, change: int) -> Answer:
        """Show a change, and what a restore of its version would change now."""
        return Answer(_detail(seen(self, change)))


class ConfigRestore(OJSView):
    """The restore of a version."""

    @operation(
        "restoreConfigVersion",
        {200: DETAIL},
        path=NUMBER,
        body=obj(
            {"confirm": {"const": True}, "expected": text(1, history.DIGITS)},
            {"reason": maybe(text(0, MAX_REASON))},
        ),
        refusals=(404, 409),
    )
    def post(self, request: Request, change: int) -> Answer:
        """Restore the version that a change left, in one transaction.

        `expected` is that of the preview: 409 if the configuration has changed since. The caller
        also needs the rights to change objects of this kind.
        """
        body = self.body()
        require_confirm(body)
        expected = optional_text(body, "expected", history.DIGITS)
        if expected is None:
            raise InvalidRequest.field("expected", "is required: read it from the change")
        reason = optional_text(body, "reason")
        found = seen(self, change)
        require(self, RESTORE, found.subject.kind.permit(found.document))
        history.restore(change, replace(self.caller, reason=reason), expected=expected)
        return Answer(_detail(history.preview(change)))


def seen(view: OJSView, number: int) -> history.Preview:
    """Return a change of a kind that the caller may see. Raises NotFound."""
    found = history.preview(number)
    if not sees(view, table().named[found.subject.kind.see]):
        raise NotFound.of("change", str(number))
    return found


def require(view: OJSView, operation: str, permit: str) -> None:
    """Refuse a caller who lacks the permit of a kind. Raises PermissionDenied.

    A key needs each scope of the permit's operations, and must not be limited to queues or types.
    """
    needed = table().named[permit]
    for scope in needed.api:
        view.principal.require(Required(operation, scope, needed))
    view.principal.require_unlimited("restore a configuration")


def _encode(row: ConfigChange) -> dict[str, Any]:
    return {
        "id": row.pk, "at": format_time(row.at), "kind": row.kind, "name": row.name,
        "tenant": row.tenant, "actor": row.actor, "action": row.action, "reason": row.reason,
        "before": row.before, "after": row.after, "restored": row.restored,
    }  # fmt: skip


def _detail(found: history.Preview) -> dict[str, Any]:
    change = found.change
    return {
        "change": _encode(change),
        "differences": _differences(differences(change.before, change.after)),
        "restore": {
            "expected": found.expected,
            "differences": _differences(found.differences),
        },
    }


def _differences(found: Sequence[Difference]) -> list[dict[str, Any]]:
    return [
        {
            "path": one.path, "before": one.before, "after": one.after, "added": one.added,
            "removed": one.removed,
        }
        for one in found
    ]  # fmt: skip
