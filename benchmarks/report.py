"""Pages of the documentation from stored results, and tables on the terminal.

Benchmarks without a page of their own are sections of docs/performance.md. Pages show what was
measured; targets are checked on the terminal only.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.benchmark import PERFORMANCE, Benchmark
from benchmarks.registry import BENCHMARKS
from benchmarks.results import Results, Row
from heatgraph._io.formatting import format_bytes, format_seconds
from heatgraph.experiments.results import runs_table
from heatgraph.report.charts import write_chart
from heatgraph.report.document import Cell, Document, Part, Section, Table
from heatgraph.report.folder import write_text
from heatgraph.report.markdown import cell_text, to_markdown

# Differences in time below this factor are noise.
NOISE = 1.02
# Bytes of difference in memory that are noise: allocators round up.
MEMORY_NOISE = 10_000_000
# Columns of the terminal that tables need.
MIN_WIDTH = 200
HEAD = (
    "peer", "time (fastest to slowest turn)", "times heatgraph's", "set-up", "memory", "products",
    "moved", "of copying", "of gathering", "error", "agreement", "remark",
)  # fmt: skip
# Packages whose versions the pages of single benchmarks name.
PACKAGES = ("numpy", "scipy", "numba", "scikit-learn", "pyarrow", "torch")
TIMED = "Every ratio is of medians in one interleaved run; seconds are of a shared machine.\n"

SECTIONS = {name: one for name, one in BENCHMARKS.items() if one.page == PERFORMANCE}
PREFACE = (
    "Written by `python -m benchmarks report` from the results of `make bench`; `make bench "
    "BENCH=NAME` runs one benchmark: " + ", ".join(f"`{name}`" for name in SECTIONS) + ".",
    "**How it is measured.** Rounds are interleaved: in each, every peer gets one turn, a process "
    "of its own. Times are medians over rounds, with the fastest and the slowest turn; quick work "
    "is repeated for half a second in each turn. A tiny graph warms up imports and compilation, "
    "and set-up (converting a matrix to the library's format) is listed separately. Seconds are of "
    "a shared machine; ratios are within one run.",
    "**Columns.** *Memory* is the peak beyond what the process held before the work, so it "
    "excludes the input. *Moved* are the bytes that products read and write: for heatgraph as its "
    "plan counts them, for others the least possible (entries, gathered rows, results); *of "
    "copying* and *of gathering* give them per second as a share of this machine's bandwidth. "
    "*Error* is the relative difference to SciPy in float64, at a thousand rows and two columns; "
    "it shows that a peer computed the same thing. (A tolerance bounds the error relative to the "
    "features, whose norm is larger than the result's.) *Agreement* is with heatgraph's result: "
    "the relative difference, or the share of equal predictions. The row of a peer that was not "
    "run, did not finish or ran out of memory says so.",
)


def write_pages(folder: Path, performance: Path, names: Iterable[str]) -> list[Path]:
    """Write the pages of some benchmarks from the results in a folder.

    Pages of single benchmarks are written beside the `performance` page, if there are results.
    """
    results, pages = load_results(folder), []
    names = set(names)
    if names & SECTIONS.keys():
        write_document(performance_document(results), performance)
        pages.append(performance)
    for name in sorted(names & results.keys() - SECTIONS.keys()):
        benchmark = BENCHMARKS[name]
        page = performance.with_name(f"{benchmark.page}.md")
        page.parent.mkdir(parents=True, exist_ok=True)
        write_text(page, single_page(benchmark, results[name]))
        pages.append(page)
    return pages


def load_results(folder: Path) -> dict[str, Results]:
    paths = {name: folder / f"{name}.json" for name in BENCHMARKS}
    return {name: Results.load(path) for name, path in paths.items() if path.exists()}


def write_document(document: Document, page: Path) -> None:
    """Write a page, with its charts in ``figures/NAME`` beside it."""
    figures = page.parent / "figures" / page.stem
    shutil.rmtree(figures, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        for chart in (chart for section in document.sections for chart in section.charts):
            figures.mkdir(parents=True, exist_ok=True)
            picture = next(p for p in write_chart(chart, Path(name)) if p.suffix == ".png")
            shutil.copy(picture, figures)
    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(page, to_markdown(document, f"figures/{page.stem}"))


def single_page(benchmark: Benchmark, results: Results) -> str:
    """The page of a benchmark whose results are preformatted text."""
    run = results.run
    system, _, processor = run["machine"]["system"].partition(" ")
    versions = ", ".join(
        f"{name} {run['versions'][name]}"
        for name in PACKAGES
        if run["versions"].get(name, "absent") != "absent"
    )
    return (
        f"# {benchmark.title}\n\nWritten by `make bench BENCH={benchmark.name}` on "
        f"{run['started'][:10]}, on {run['machine']['cores']} cores ({processor}, {system}) with "
        f"Python {run['versions']['python']}, {versions}.\n{TIMED * bool(results.bandwidth)}\n"
        f"```text\n{benchmark.text(results)}\n```\n"
    )


def performance_document(every: dict[str, Results]) -> Document:
    """The page of all benchmarks without one of their own; `every` has the results by name."""
    results = {name: every[name] for name in SECTIONS if name in every}
    sections = [_section(one, results.get(name)) for name, one in SECTIONS.items()]
    parts: list[Part] = ["**Not run.**"]
    if results:
        intro = (
            f"Every peer that is ahead of heatgraph by more than {NOISE - 1:.0%}, in all rows "
            "above, estimated ones included."
        )
        parts = [intro, *peers_ahead(results.values())]
    sections.append(Section("ahead", "Where others are ahead", parts))
    return Document("Speed and scale against peers", list(PREFACE), sections)


def _section(benchmark: Benchmark, results: Results | None) -> Section:
    parts: list[Part] = list(benchmark.description)
    if results is None:
        parts.append(f"**Not run.** Run it with `make bench BENCH={benchmark.name}`.")
        return Section(benchmark.name, benchmark.title, parts)
    if results.scale != 1:
        parts.append(
            f"**A trial run at scale {results.scale:g}**: synthetic graphs are smaller by that "
            "factor, and figures of them mean nothing."
        )
    parts.append(figure_table(benchmark, results))
    parts += [work_table(results, work) for work in results.works]
    parts += benchmark.charts(results)
    if results.bandwidth:
        parts.append(
            "Before the run this machine copied {copy:.1f} GB/s (read and written), and gathered "
            "rows of 64 numbers at {gather:.1f} GB/s from an array of 512 MB and at "
            "{gather_cached:.1f} GB/s from one of 1 MB.".format(
                **{name: value / 1e9 for name, value in results.bandwidth.items()}
            )
        )
    limit = f" Limit: {results.limit:g} s." if results.limit else ""
    parts.append(f"Rounds: {results.rounds}.{limit}")
    parts.append(runs_table([results.run]))
    return Section(benchmark.name, benchmark.title, parts)


def figure_table(benchmark: Benchmark, results: Results) -> Table:
    """What was measured."""
    rows = [
        [figure.label, _format_figure(figure.value) or "not run"]
        for figure in benchmark.figures(results)
    ]
    return Table("Figures", ["figure", "measured"], rows)


def target_table(benchmark: Benchmark, results: Results) -> Table:
    """Figures with their targets, and whether they are met."""
    rows = [
        [
            figure.label,
            _format_figure(figure.value),
            figure.target,
            Cell(figure.verdict, marked=figure.verdict == "MISSED"),
        ]
        for figure in benchmark.figures(results)
    ]
    return Table("Targets", ["figure", "measured", "target", ""], rows)


def _format_figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def work_table(results: Results, work: str) -> Table:
    """The rows of a work, without empty columns."""
    rows, ours = results.rows_of(work), results.find(work)
    lines = [_cells(row, ours, results) for row in rows]
    columns = [0, *(i for i in range(1, len(HEAD)) if any(line[i] for line in lines))]
    title = work
    about = results.data.get(rows[0].data)
    if about:
        title += f" — {about['title']}"
    head = [HEAD[i] for i in columns]
    return Table(title, head, [[line[i] for i in columns] for line in lines])


def _cells(row: Row, ours: Row | None, results: Results) -> list[str | Cell]:
    """A cell for each column of `HEAD`."""
    if not row.turns:
        return [row.peer, row.failed or "not run", *([""] * (len(HEAD) - 2))]
    ratio = ""
    if row.compared and ours is not None and ours.seconds:
        ratio = f"{row.seconds / ours.seconds:.3g}"
    return [
        row.peer,
        Cell(row.format_time(), "estimated" if row.note else ""),
        ratio,
        "" if row.setup_seconds is None else format_seconds(row.setup_seconds),
        "" if row.memory is None else format_bytes(row.memory),
        "" if row.products is None else f"{row.products:,}",
        "" if row.moved is None else format_bytes(row.moved),
        _format_share(row, results.bandwidth.get("copy")),
        _format_share(row, results.bandwidth.get("gather")),
        "" if row.difference is None else f"{row.difference:.1e}",
        "" if row.agreement is None else f"{row.agreement:.4g}",
        _remark(row),
    ]


def _format_share(row: Row, bandwidth: float | None) -> str:
    """Bytes per second as a share of a bandwidth."""
    if not row.moved or not bandwidth or not row.seconds:
        return ""
    return f"{100 * row.moved / row.seconds / bandwidth:.0f} %"


def _remark(row: Row) -> str:
    remarks = [row.note] if row.note else []
    if "accuracy" in row.facts:
        remarks.append(f"test accuracy {100 * row.facts['accuracy']:.2f} %")
    if "T" in row.facts:
        remarks.append(f"T = {row.facts['T']:.3g}")
    if row.facts.get("settings", 1) > 1:
        remarks.append(f"{row.facts['settings']:,} settings")
    return "; ".join(remarks)


def peers_ahead(every: Iterable[Results]) -> list[Part]:
    """Where a peer takes less time or memory than heatgraph, and by how much."""
    faster, smaller = [], []
    for results in every:
        for row in results.rows:
            ours = results.find(row.work)
            if ours is None or not ours.turns:
                continue
            if row.is_ours or not row.compared or not row.turns:
                continue
            if row.seconds * NOISE < ours.seconds:
                times = [format_seconds(one.seconds) for one in (row, ours)]
                ratio = f"{ours.seconds / row.seconds:.3g}"
                faster.append([row.work, row.peer, *times, ratio, row.note])
            if None in (row.memory, ours.memory):
                continue
            if row.memory * NOISE + MEMORY_NOISE < ours.memory:
                sizes = [format_bytes(one.memory) for one in (row, ours)]
                ratio = f"{ours.memory / max(row.memory, 1):.3g}"
                smaller.append([row.work, row.peer, *sizes, ratio, row.note])
    parts: list[Part] = []
    head = ["work", "peer", "its", "heatgraph's", "heatgraph's / its", "remark"]
    for measure, rows in (("time", faster), ("memory", smaller)):
        if rows:
            parts.append(Table(f"Less {measure} than heatgraph", head, rows, 2))
        else:
            parts.append(f"In {measure}: nowhere, in what was run.")
    return parts


def print_results(benchmark: Benchmark, results: Results) -> None:
    """Print the results, and figures with their targets."""
    from rich.console import Console
    from rich.table import Table as Grid

    console = Console()
    console.width = max(console.width, MIN_WIDTH)
    tables = [work_table(results, work) for work in results.works]
    if benchmark.text is not None:
        print(benchmark.text(results))
        tables = []
    targets = target_table(benchmark, results)
    for table in (*tables, *([targets] if targets.rows else [])):
        grid = Grid(title=table.title, title_justify="left", box=None, header_style="bold")
        for place, name in enumerate(table.head):
            grid.add_column(name, justify="left" if place < table.text_columns else "right")
        for row in table.rows:
            grid.add_row(*map(cell_text, row))
        console.print(grid)
        console.print()
