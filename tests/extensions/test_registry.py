"""The groups of hooks, and the extensions that implement them."""

import re

import pytest
from typing_extensions import override

from jobs.domain.dispatch.claim import ClaimPlan, FetchRequest
from jobs.extensions import ClaimHooks, EnqueueHooks, Extension, implementers, installed
from tests.conftest import ROOT
from tests.extensions.house_rules.extension import HouseRules
from tests.installing import installing

GROUPS = sorted(Extension.__subclasses__(), key=lambda group: group.__name__)
GROUPS = [group for group in GROUPS if group.__module__.startswith("jobs.extensions.")]
PAGE = (ROOT / "docs" / "extensions.md").read_text()


def hooks(group: type[Extension]) -> set[str]:
    """Return the names of the hooks of a group."""
    return {name for name in vars(group) if not name.startswith("_")}


class Doubles(ClaimHooks):
    """Extension with one hook."""

    @override
    def plan_claim(self, plan: ClaimPlan, request: FetchRequest) -> ClaimPlan:
        return plan


class Unrelated(Extension):
    """Extension without hooks; its method only has the name of a hook."""

    def plan_claim(self) -> None:
        """Do something else."""


def test_implementers_are_the_extensions_that_override_a_hook_in_order() -> None:
    rules, doubles = HouseRules(), Doubles()

    with installing(doubles, Unrelated(), rules):
        assert implementers(ClaimHooks.plan_claim) == (doubles, rules)
        assert implementers(EnqueueHooks.prepare) == (rules,)
        assert implementers(ClaimHooks.reject_claimed) == ()


def test_no_two_groups_share_the_name_of_a_hook() -> None:
    names = [name for group in GROUPS for name in hooks(group)]

    assert len(GROUPS) == 11
    assert len(names) == len(set(names))


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_each_hook_of_a_group_has_an_implementer(group: type[Extension]) -> None:
    unused = {name for name in hooks(group) if not implementers(getattr(group, name))}

    assert unused == set()


def test_each_public_method_of_an_extension_is_a_hook() -> None:
    known = {name for group in GROUPS for name in hooks(group)}

    for extension in installed():
        assert hooks(type(extension)) <= known, type(extension).__name__


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_the_manual_lists_each_hook_of_a_group(group: type[Extension]) -> None:
    section = PAGE.partition(f"`{group.__name__}`\n")[2].partition("\n## ")[0]

    assert set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE)) == hooks(group)
