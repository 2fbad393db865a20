"""Make docs/reproduction.md of a full run: python scripts/document_reproduction.py FOLDER

FOLDER is what `heatgraph paper all` wrote. Its report.md becomes the page, its figures go beside it.
"""

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
FIGURES = DOCS / "figures"


def main(folder: Path) -> None:
    shutil.rmtree(FIGURES, ignore_errors=True)
    FIGURES.mkdir()
    for figure in sorted((folder / "figures").glob("*.png")):
        shutil.copy(figure, FIGURES)
    shutil.copy(folder / "report.md", DOCS / "reproduction.md")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
