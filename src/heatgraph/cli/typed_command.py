"""The command line, for reports."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path


def typed_command() -> str:
    """The command as it was typed, without the folders of absolute paths, which are private."""
    typed = (Path(part).name if Path(part).is_absolute() else part for part in sys.argv[1:])
    return shlex.join(["heatgraph", *typed])
