"""Turn the report of a command into a page of docs/: python scripts/document_runs.py PAGE FOLDER

PAGE is "reproduction", from the folder of a full `heatgraph paper all`, or "comparison", from that
of a `heatgraph compare`. The Markdown report becomes docs/PAGE.md, its figures docs/figures/PAGE/.
"""

import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
# The command that the report of a page must come from.
COMMANDS = {"reproduction": "`heatgraph paper all", "comparison": "`heatgraph compare"}


def main(page: str, folder: Path) -> None:
    report = (folder / "report.md").read_text(encoding="utf-8")
    if "This is a quick run" in report or COMMANDS[page] not in report:
        sys.exit(f"{folder} does not hold a full report of {COMMANDS[page][1:]}.")
    figures = DOCS / "figures" / page
    shutil.rmtree(figures, ignore_errors=True)
    figures.mkdir(parents=True)
    for figure in sorted((folder / "figures").glob("*.png")):
        shutil.copy(figure, figures)
    text = report.replace("](figures/", f"](figures/{page}/")
    (DOCS / f"{page}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
