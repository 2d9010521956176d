"""The pictures of the manual: one of every page in every form, within a bound of bytes."""

from django.urls import URLPattern

from bench.console.pictures import FOLDER, FORMS, MOST_BYTES, PAGES
from console.urls import urlpatterns
from tests.console.test_accessibility import UNSEEN

VIEWS = {"error_group"}  # pages that are another page with a query


def test_every_page_has_its_pictures() -> None:
    pages = {one.name for one in urlpatterns if isinstance(one, URLPattern) and one.name}

    assert set(PAGES) - VIEWS == pages - UNSEEN - {"login"}
    assert {file.name for file in FOLDER.glob("*.webp")} == {
        f"{name}-{form}.webp" for name in PAGES for form in FORMS
    }


def test_the_pictures_are_small() -> None:
    assert sum(file.stat().st_size for file in FOLDER.glob("*.webp")) < MOST_BYTES
