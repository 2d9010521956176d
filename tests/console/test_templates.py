"""The source of the templates: lines that a reviewer can read."""

from pathlib import Path

TEMPLATES = Path(__file__).resolve().parents[2] / "console" / "templates"
WIDE = 160


def test_lines_of_templates_are_short() -> None:
    found = [
        f"{path.name}:{number}"
        for path in TEMPLATES.rglob("*.html")
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if len(line) >= WIDE
    ]

    assert found == []


def test_templates_name_the_default_tenant_by_a_filter() -> None:
    found = [path.name for path in TEMPLATES.rglob("*.html") if "_default" in path.read_text()]

    assert found == []
