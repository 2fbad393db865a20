"""Make docs/reproduction.md of a full run: python scripts/document_reproduction.py FOLDER

FOLDER is what `heatgraph paper all` wrote: its report becomes the page, with its figures beside it.
"""

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = DOCS / "figures"


def main(folder: Path) -> None:
    report = (folder / "report.md").read_text(encoding="utf-8")
    if "This is a quick run" in report or "`heatgraph paper all" not in report:
        sys.exit(f"{folder} does not hold a report of a full run, `heatgraph paper all`.")
    shutil.rmtree(FIGURES, ignore_errors=True)
    FIGURES.mkdir()
    for figure in sorted((folder / "figures").glob("*.png")):
        shutil.copy(figure, FIGURES)
    (DOCS / "reproduction.md").write_text(report, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
