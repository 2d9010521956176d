"""The loop `attention`: one statement per rule, findings that open and end, events."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from attention.models import Finding, Look
from attention.rules import RULES, installed
from attention.services.look import evaluate, look

pytestmark = pytest.mark.usefixtures("store")


def test_every_statement_runs_on_an_empty_store() -> None:
    seen = evaluate(installed(), {})

    assert [rule.id for rule in seen.failed] == []
    assert len(seen.rules) == len(RULES)
