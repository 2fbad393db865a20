"""Texts of users for a terminal: labels, ids, and names of columns and files may hold anything."""

from __future__ import annotations

import re

# Control characters except for line breaks, and those that change the direction of text: ESC can
# make a terminal do anything, a carriage return overwrites a line, and an override reverses it.
_CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""A text with escapes such as ``\x1b`` for its control characters.

    Examples
    --------
    >>> print(printable("red: \x1b[31m"))
    red: \x1b[31m
    """
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def printable_json(text: str) -> str:
    """JSON with its own escapes for control characters, so that values stay the same."""
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
