"""Files that ``heatgraph fit`` writes: the model, predictions and the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from heatgraph.cli.output_files import is_stdout, name_in_errors
from heatgraph.cli.reporter import Reporter
from heatgraph.cli.typed_command import typed_command

if TYPE_CHECKING:
    from heatgraph.datasets.dataset import Dataset


@dataclass(frozen=True)
class FitFiles:
    """Paths of the files, None for those that are not written."""

    model: Path | None
    predictions: Path | None
    report: Path | None

    def print(self, reporter: Reporter, model_size: str = "") -> None:
        """Tell which files were written; `model_size` follows the name of the model's."""
        for name, path in vars(self).items():
            if path is not None and not is_stdout(path):
                size = model_size if name == "model" else ""
                reporter.print(f"Wrote {name} to {path}{size}")
        if not any(vars(self).values()):
            reporter.print("Nothing was written: give --predictions, --model or --report.")

    def to_json(self) -> dict[str, str | None]:
        """Paths as JSON values."""
        return {name: None if path is None else str(path) for name, path in vars(self).items()}


def write_report_file(
    reporter: Reporter,
    path: Path,
    model: Any,
    data: Dataset,
    result: Any,
    read: dict[str, Any],
    seconds: float,
) -> None:
    """Write the report of a fit, with the warnings given until now."""
    from heatgraph.report.fit_report import fit_document, write_fit_report

    with reporter.progress("writing the report"), name_in_errors(path):
        document = fit_document(
            model,
            data,
            result=result,
            read=read,
            command=typed_command(),
            warnings=reporter.warnings,
            seconds=seconds,
        )
        write_fit_report(document, path)
