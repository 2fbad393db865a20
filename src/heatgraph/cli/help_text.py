"""Help that fits a terminal of 80 columns: options in groups, each with a short text.

typer's own has a column for every kind of name and the type of every flag, which leaves little room
for the texts.
"""

from __future__ import annotations

import inspect
import os
import shutil
from typing import Any

import typer
import typer.core

from heatgraph.cli.options import MACHINE
from heatgraph.cli.text_layout import wrap

# Columns that names of options take at most; texts of longer names begin on the next line.
MAX_NAME_WIDTH = 24
MAX_WIDTH, MIN_WIDTH = 100, 40
DEFAULT_GROUP, LAST_GROUP = "Options", MACHINE
# What stands for a value in the names of options, by the beginning of its type.
VALUE_NAMES = {"int": "N", "float": "X", "path": "PATH", "file": "PATH"}


class Command(typer.core.TyperCommand):
    """A command that prints its options in groups."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help of the command."""
        parameters: list[Any] = self.get_params(ctx)
        arguments = [one for one in parameters if one.param_type_name == "argument"]
        names = " ".join(map(_argument_name, arguments))
        groups: dict[str, list[tuple[str, str]]] = {}
        if arguments:
            groups["Arguments"] = [(_argument_name(one), one.help or "") for one in arguments]
        for option in parameters:
            if option.param_type_name == "option" and not getattr(option, "hidden", False):
                group = getattr(option, "rich_help_panel", None) or DEFAULT_GROUP
                groups.setdefault(group, []).append(
                    (_option_name(option, ctx), _option_text(option))
                )
        if LAST_GROUP in groups:
            groups[LAST_GROUP] = groups.pop(LAST_GROUP)
        usage = f"Usage: {ctx.command_path} [OPTIONS] {names}".rstrip()
        formatter.write(_page(usage, self.help, groups, self.epilog))


class Group(typer.core.TyperGroup):
    """The group of all commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands."""
        commands = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        groups = {
            "Commands": [
                (name, _first_paragraph(command.help)) for name, command in commands if command
            ],
            "Options": [
                (_option_name(option, ctx), _option_text(option))
                for option in self.get_params(ctx)
                if option.param_type_name == "option"
            ],
        }
        usage = f"Usage: {ctx.command_path} COMMAND [OPTIONS] [ARGUMENTS]"
        formatter.write(_page(usage, self.help, groups, self.epilog))


def _page(
    usage: str, text: str | None, groups: dict[str, list[tuple[str, str]]], epilog: str | None
) -> str:
    width = max(MIN_WIDTH, min(shutil.get_terminal_size((80, 24)).columns, MAX_WIDTH))
    lines = [*wrap(usage, width, hanging=2), ""]
    for paragraph in _paragraphs(text):
        lines += [*wrap(f"  {paragraph}", width), ""]
    for title, rows in groups.items():
        lines += [_bold(title), *_two_columns(rows, width), ""]
    for paragraph in _paragraphs(epilog):
        lines += [*wrap(paragraph, width), ""]
    return "\n".join(lines)


def _two_columns(rows: list[tuple[str, str]], width: int) -> list[str]:
    longest = max((len(name) for name, _ in rows if len(name) <= MAX_NAME_WIDTH), default=0)
    lines = []
    for name, text in rows:
        texts = wrap(text, width - longest - 4)
        if len(name) > longest:
            lines.append(f"  {name}")
            name = ""
        lines.append(f"  {name.ljust(longest)}  {texts[0]}".rstrip())
        lines += [" " * (longest + 4) + text for text in texts[1:]]
    return lines


def _argument_name(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper()).strip("[]")
    return name if argument.required else f"[{name}]"


def _option_name(option: Any, ctx: Any) -> str:
    """All spellings, the short ones first, and what stands for a value."""
    spellings = sorted([*option.opts, *option.secondary_opts], key=lambda text: text[:2] == "--")
    names = ", ".join(spellings)
    if option.is_flag:
        return names
    if option.metavar:
        return f"{names} {option.metavar}"
    kind = _type_name(option, ctx)
    value = next((text for start, text in VALUE_NAMES.items() if kind.startswith(start)), "TEXT")
    return f"{names} {value}"


def _type_name(option: Any, ctx: Any) -> str:
    """The type of an option's value; how typer tells it depends on its version."""
    if hasattr(option, "display_type"):
        return str(option.display_type(ctx)).strip("<>").lower()
    return str(option.type.name).lower()


def _option_text(option: Any) -> str:
    text = " ".join((option.help or "").split())
    default = option.default
    if option.required:
        text += " (required)"
    elif not option.is_flag and isinstance(default, str | int | float) and default != "":
        text += f" (default: {getattr(default, 'value', default)})"
    return text


def _paragraphs(text: str | None) -> list[str]:
    return [" ".join(part.split()) for part in inspect.cleandoc(text or "").split("\n\n") if part]


def _first_paragraph(text: str | None) -> str:
    return next(iter(_paragraphs(text)), "")


def _bold(text: str) -> str:
    return text if os.environ.get("NO_COLOR") else typer.style(text, bold=True)
