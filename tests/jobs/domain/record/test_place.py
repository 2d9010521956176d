"""The two names of a position in the event record. Spec: contract 12.3, 25.1."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.domain.record.place import SEQ_MASK, STAMP_BITS, Place, event_id, read_place
from tests.spec import spec

AT = datetime(2026, 5, 4, 9, 12, 40, 200_000, tzinfo=UTC)
places = st.builds(
    Place, st.integers(0, (1 << STAMP_BITS) - 1), st.integers(0, SEQ_MASK), st.integers(0, 3)
)


@given(places)
@spec("contract 25.1")
def test_both_names_lead_back_to_the_place(place: Place) -> None:
    assert read_place(event_id(place, AT)) == place
    assert read_place(str(place.number)) == place


@given(places, places)
@spec("contract 25.1")
def test_numbers_rise_along_the_record(one: Place, other: Place) -> None:
    assert (one.number < other.number) == (one < other)


@spec("contract 25.1")
def test_a_number_fits_into_a_bigint_and_an_id_is_a_uuid_of_version_7() -> None:
    last = Place((1 << STAMP_BITS) - 1, SEQ_MASK, 3)

    assert last.number == 2**63 - 1
    assert event_id(last, AT)[4:][14] == "7"


@pytest.mark.parametrize("name", ["", "evt_", "evt_1", "x", "-1", "9" * 20, "٣", "1.5"])
@spec("contract 12.5")
def test_what_is_no_name_of_an_event_has_no_place(name: str) -> None:
    assert read_place(name) is None
