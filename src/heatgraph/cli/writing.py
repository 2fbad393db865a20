"""What a command writes: files, checked before any work is done, and tables of a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from heatgraph.cli.console import Voice
from heatgraph.errors import InputError

if TYPE_CHECKING:
    from heatgraph.report.document import Section


def check_outputs(inputs: Sequence[Path | str | None], outputs: Sequence[Path | None]) -> None:
    """See that outputs can be written before any work is done, and that no input is among them."""
    taken = [Path(path) for path in inputs if path]
    for path in outputs:
        if path is None or is_standard(path):
            continue
        if any(_same(path, other) for other in taken):
            raise InputError(f"{path} is named twice, and would be overwritten. Name another file.")
        if not path.parent.is_dir():
            raise InputError(f"{path}: there is no folder {path.parent}. Make it first.")
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is a folder or a device. Name a file.")
        taken.append(path)


def check_folders(data: Path | None, output: Path | None) -> None:
    """See that data are where they should be, and that results can have a folder."""
    if data is not None and not data.is_dir():
        raise InputError(f"--data must name a folder that exists. Got '{data}'.")
    if output is not None and output.exists() and not output.is_dir():
        raise InputError(f"--output: {output} is a file. Name a folder.")


def is_standard(path: Path | None) -> bool:
    """Whether standard output is meant."""
    return str(path) == "-"


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say what could not be written; a file is then as it was before."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        if is_standard(path):
            raise OSError(error.errno, reason, "standard output") from error
        kept = f"{reason}. Nothing was left half written"
        raise OSError(error.errno, kept, str(path)) from error


def _same(path: Path, other: Path) -> bool:
    if path.exists() and other.exists():
        return path.samefile(other)
    return path.resolve() == other.resolve()


def tell_tables(voice: Voice, section: Section) -> None:
    """Print the tables of a section."""
    from heatgraph.report.document import Table
    from heatgraph.report.markdown import cell_text

    for part in section.parts:
        if isinstance(part, Table):
            voice.say()
            rows = [tuple(part.head), *(tuple(map(cell_text, row)) for row in part.rows)]
            voice.table(rows, part.title)
            voice.say()
