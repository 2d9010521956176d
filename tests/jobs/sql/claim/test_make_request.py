"""ojs_make_request: the request of a claim."""

import pytest

from tests.jobs.sql.claim.steps import rows

pytestmark = pytest.mark.django_db


def test_a_request_names_its_members_in_the_order_of_its_type() -> None:
    names = rows(
        "SELECT array_agg(a.attname::text ORDER BY a.attnum),"
        " (SELECT p.proargnames FROM pg_proc AS p WHERE p.oid = 'ojs_make_request'::regproc)"
        " FROM pg_attribute AS a JOIN pg_type AS t ON t.typrelid = a.attrelid"
        " WHERE t.oid = 'ojs_request'::regtype AND a.attnum > 0"
    )

    [(members, arguments)] = names
    assert members == arguments


def test_making_a_request_costs_no_call() -> None:
    arguments = ", ".join(["'{q}'", "1", *["NULL"] * 27])
    claim = f"ojs_claim_jobs(ojs_make_request({arguments}))"
    plan = rows(f"EXPLAIN (VERBOSE) SELECT * FROM {claim}")  # noqa: S608

    assert "ojs_make_request" not in str(plan)
    assert "ROW(" in str(plan) or "::ojs_request" in str(plan)
