"""Changes of settings that a simulation tries before an operator applies them.

A proposal is made of the form that stores the setting. It names the configuration that it began
from, so it is never applied to another one. See docs/simulation.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.urls import reverse
from django.utils.module_loading import import_string

from jobs.database import atomic
from jobs.domain.access.caller import Caller
from jobs.domain.errors import Unprocessable
from jobs.domain.record.differences import Difference, differences
from jobs.extensions import Document
from jobs.models import Audit, ConfigChange
from jobs.services.audit.audit import record
from jobs.services.audit.config_log import Subject
from jobs.services.lanes import configuration
from jobs.services.operate import history

APPLIED: Final = "scheduling.simulation_applied"
PARAMETER: Final = "simulation"  # of a form's address: the simulation whose values it shows
NOTHING: Final = "the form changes nothing that a simulation replays"


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a kind of configuration: its route, and the path of the function that stores.

    `context` is the path of a function that makes the change of a simulation which texts cannot
    state. `replayed` are the members that a simulation replays; empty: all.
    """

    route: str
    argument: str  # of the route; empty: none
    store: str
    place: str = ""  # on the page
    new: str = ""  # route of the form of a new object
    context: str = ""
    replayed: tuple[str, ...] = ()


FORMS: Final[Mapping[str, Form]] = {
    "pool": Form("pool_edit", "name", "console.pool_proposals.store_pool", new="pool_new"),
    "scheduling": Form("pools", "", "console.pool_proposals.store_configuration", "#configuration"),
    "queue": Form(
        "queue", "name", "jobs.services.lanes.queue_config.replace", "#configuration",
        replayed=("concurrency", "rate_limit"),
    ),
    "tenant": Form(
        "tenant_edit", "tenant_id", "console.tenant_proposals.store",
        context="console.tenant_proposals.context", replayed=("fairness_weight", "priority_boost"),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change of one object: the document to store, and the digest of the one it began from."""

    kind: str
    name: str
    expected: str
    after: dict[str, Any]
    found: tuple[Difference, ...]
    changes: str  # as text of a simulation; empty: the form's `context` makes the change
    fields: dict[str, str]  # of the form
    reason: str = ""

    @property
    def form(self) -> Form:
        """Return the form that the change came from."""
        return FORMS[self.kind]

    @property
    def subject(self) -> Subject:
        """Return the object as the history knows it."""
        return Subject(history.kinds()[self.kind], self.name)

    @property
    def title(self) -> str:
        """Return kind and name of the object."""
        label = self.subject.kind.label
        return f"{label} {self.name}" if self.form.argument else label

    @property
    def unplayed(self) -> list[str]:
        """Return the changed members that the simulation does not replay."""
        return [one.path for one in self.found if not _is_replayed(one, self.form)]


def propose(
    subject: Subject,
    after: Document,
    *,
    changes: str = "",
    fields: Mapping[str, str],
    default: Document | None = None,
) -> Proposal:
    """Make a proposal from the present configuration, or from `default` if the object has none.

    Raises Unprocessable if a simulation would replay none of the differences.
    """
    before = subject.document()
    found = tuple(differences(before or default, after))
    if not any(_is_replayed(one, FORMS[subject.kind.name]) for one in found):
        raise Unprocessable(NOTHING)
    kind, name, _ = subject.key
    return Proposal(
        kind, name, history.digest(before), dict(after), found, changes,
        dict(fields),
    )  # fmt: skip


def _is_replayed(one: Difference, form: Form) -> bool:
    return not form.replayed or one.path.partition(".")[0] in form.replayed


def applied(key: str) -> Audit | None:
    """Return the entry of the audit log that applied a simulation; None: not applied."""
    return Audit.objects.filter(action=APPLIED, target=key).order_by("-id").first()


def apply(key: str, proposal: Proposal, who: Caller) -> bool:
    """Store the change of a simulation; return False if it has been applied before.

    Raises Conflict if the object was changed since the simulation began, and as the service that
    stores. Locks: the configuration version, so the object cannot change meanwhile.
    """
    with atomic():
        configuration.hold()
        if applied(key) is not None:
            return False
        history.refuse_changed(proposal.subject, proposal.expected)
        import_string(proposal.form.store)(proposal.name, proposal.after, who)
        facts = {"kind": proposal.kind, "name": proposal.name, "change": _latest(proposal)}
        record(who, APPLIED, key, data=facts)
    return True


def _latest(proposal: Proposal) -> int | None:
    same = ConfigChange.objects.filter(kind=proposal.kind, name=proposal.name, tenant=None)
    return same.order_by("-id").values_list("pk", flat=True).first()


def form_of(key: str, proposal: Proposal, *, exists: bool) -> str:
    """Return the address of the form with the values of a simulation."""
    form = proposal.form
    is_named = form.argument and (exists or not form.new)
    given = {form.argument: proposal.name} if is_named else {}
    route = form.route if exists or not form.new else form.new
    return f"{reverse(f'ojs_console:{route}', kwargs=given)}?{PARAMETER}={key}{form.place}"
