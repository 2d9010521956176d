"""An operator at the console, whose clicks are counted."""

from playwright.sync_api import Locator, Page, expect


class Operator:
    """The hands of an operator on a page. Typing is free, each click counts."""

    def __init__(self, page: Page, text: str) -> None:
        """Begin at the overview, with the finding of this text."""
        self._page = page
        self._text = text
        self.clicks = 0
        page.goto("/console/")

    def finding(self) -> Locator:
        """Return the finding on the overview."""
        return self._page.locator(".finding").filter(has_text=self._text)

    def press(self, label: str) -> None:
        """Press a remedy of the finding, give a reason, and confirm it."""
        self._click(self.finding().get_by_role("button", name=label))
        dialog = self._page.get_by_role("dialog")
        dialog.get_by_label("Reason").fill("an incident")
        self._click(dialog.locator("button[value=yes]"))
        expect(self._page.get_by_role("status")).to_be_visible()

    def follow(self, label: str) -> None:
        """Follow a link of the finding."""
        before = self._page.url
        self._click(self.finding().get_by_role("link", name=label))
        self._page.wait_for_url(lambda url: url != before)

    def open(self, part: str) -> None:
        """Open a part of the page."""
        self._click(self._page.locator(f"{part} > summary"))

    def fill(self, **fields: str) -> None:
        """Fill in fields of the page."""
        for name, text in fields.items():
            self._page.locator(f"main form[method=post] [name={name}]:visible").first.fill(text)

    def send(self, label: str) -> None:
        """Press a button of the page that sends its form."""
        with self._page.expect_navigation():
            self._click(self._page.locator("main").get_by_role("button", name=label, exact=True))

    def sees(self, text: str) -> None:
        """Read a text on the page."""
        expect(self._page.locator("main")).to_contain_text(text)

    def _click(self, target: Locator) -> None:
        self.clicks += 1
        target.click()
