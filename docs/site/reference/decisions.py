"""The list of decisions, from the titles of their pages."""

from docs.site import DOCS, markdown


def page() -> str:
    """Return the page in Markdown."""
    lines = [
        f"- [{markdown.title(path.read_text())}]({path.name})"
        for path in sorted((DOCS / "adr").glob("[0-9]*.md"))
    ]
    head = ["# Decisions", "", "Decisions about the design, with measurements.", ""]
    return "\n".join([*head, *lines, ""])
