"""The title of a code block on the site: the file that it belongs to, or where it runs."""

from docs.site.classes import WrongClass, class_of
from docs.site.markdown import Block


def title_of(block: Block) -> str:
    """Return the title; empty for blocks that stand for themselves, such as commands."""
    try:
        kind = class_of(block)
    except WrongClass:  # of the contract's pages, which no test runs
        return ""
    match kind.name:
        case "file":
            return kind.detail
        case "append":
            return f"{kind.detail} (add at the end)"
        case "run" if block.language == "python":
            return "python manage.py shell"
        case "output":
            return "output"
        case _:
            return ""
