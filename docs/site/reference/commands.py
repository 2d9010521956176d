"""The management commands, from their parsers."""

import argparse
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from django.apps import apps
from django.core.management import get_commands, load_command_class
from django.core.management.base import BaseCommand

from docs.site import ROOT

DJANGOS = {
    action.dest for action in BaseCommand().create_parser("manage.py", "")._actions
}  # the options of every command


def page() -> str:
    """Return the page in Markdown."""
    lines = [
        "# Commands",
        "",
        "Each command also has Django's own options, such as `--settings` and `--verbosity`.",
    ]
    for name, app in sorted(ours().items()):
        command = load_command_class(app, name)
        parser = command.create_parser("manage.py", name)
        lines += ["", f"## `{name}`", "", command.help or "", *_parser(parser, name, 3)]
    return "\n".join([*lines, ""])


def ours() -> dict[str, str]:
    """Return the project's own commands, each with its app."""
    own = {config.name for config in apps.get_app_configs() if Path(config.path).parent == ROOT}
    return {name: app for name, app in get_commands().items() if app in own}


def _parser(parser: argparse.ArgumentParser, name: str, level: int) -> Iterator[str]:
    """Yield the options of a parser, then its subcommands with theirs."""
    actions = [action for action in parser._actions if action.dest not in DJANGOS]
    rows = [action for action in actions if not isinstance(action, argparse._SubParsersAction)]
    rows = [action for action in rows if action.help != argparse.SUPPRESS]
    if rows:
        yield from ("", "| option | default | meaning |", "|---|---|---|", *map(_row, rows))
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {one.dest: one.help or "" for one in action._choices_actions}
            by_parser = groupby(action.choices.items(), key=lambda item: item[1])
            for sub, names in by_parser:
                main = next(names)[0]
                yield from ("", f"{'#' * level} `{name} {main}`", "", helps.get(main, ""))
                yield from _parser(sub, f"{name} {main}", level + 1)


def _row(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {_value(action)}"
    names = ", ".join(f"`{name}{value}`" for name in action.option_strings)
    is_set = action.default not in {None, False, argparse.SUPPRESS, (), ""} and names
    default = f"`{action.default}`" if is_set else ""
    meaning = (action.help or "").replace("%%", "%").replace("|", "\\|")
    return f"| {names or f'`{_value(action)}`'} | {default} | {meaning} |"


def _value(action: argparse.Action) -> str:
    """Return the placeholder of a value."""
    if action.choices:
        return "{" + ",".join(map(str, action.choices)) + "}"
    if isinstance(action.metavar, str):
        return action.metavar
    return action.dest.upper()
