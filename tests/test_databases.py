"""The databases of the test run."""

import psycopg
import pytest
from django.db import connection

from tests.conftest import empty, end_sessions
from tests.versioning.wire import fetched
from versioning.models import Apart, Route

pytestmark = pytest.mark.usefixtures("store")


def test_a_left_over_session_does_not_keep_a_database_from_being_dropped() -> None:
    name = f"{connection.settings_dict['NAME']}_left_over"
    own = connection.copy()
    own.settings_dict["NAME"] = name
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
    left_over = psycopg.connect(
        host=own.settings_dict["HOST"], user=own.settings_dict["USER"], dbname=name
    )

    end_sessions(own)

    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}"')
    with pytest.raises(psycopg.OperationalError):
        left_over.execute("SELECT 1")
    left_over.close()


def test_no_test_inherits_the_split_types_of_an_earlier_test() -> None:
    fetched(handlers=[{"type": "t", "versions": "*", "accept_unversioned": False}])
    assert Apart.objects.exists()

    empty()

    assert not Apart.objects.exists()
    assert not Route.objects.exists()
