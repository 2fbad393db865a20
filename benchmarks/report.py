"""docs/performance.md, out of the results that there are: tables, figures, charts and verdicts."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks.diffusion import DIFFUSION
from benchmarks.fit import FIT
from benchmarks.growth import GROWTH
from benchmarks.jobs import Benchmark
from benchmarks.product import PRODUCT
from benchmarks.rows import Results, Row
from benchmarks.search import SEARCH
from benchmarks.start import START
from heatgraph._io.formatting import format_bytes
from heatgraph.experiments.results import runs_table
from heatgraph.report.charts import write_chart
from heatgraph.report.document import Cell, Document, Part, Section, Table
from heatgraph.report.folder import write_text
from heatgraph.report.markdown import to_markdown

BENCHMARKS = {one.name: one for one in (PRODUCT, DIFFUSION, FIT, SEARCH, GROWTH, START)}
# A peer is ahead only if it is so by more than this: less is within the noise.
MARGIN = 1.02
# What a peer may take less before memory is worth a line: allocators round up.
LEAST_MEMORY = 10_000_000
# Columns that a printed table needs.
WIDEST = 200
HEAD = (
    "peer", "time (fastest to slowest turn)", "times heatgraph's", "set-up", "memory", "products",
    "moved", "of copying", "of gathering", "error", "agreement", "remark",
)  # fmt: skip


def readable_seconds(seconds: float) -> str:
    unit, factor = ("s", 1.0) if seconds >= 1 else ("ms", 1e3)
    return (
        f"{seconds * factor:,.0f} {unit}" if seconds >= 1000 else f"{seconds * factor:.3g} {unit}"
    )


def _time(row: Row) -> str:
    low, high = (readable_seconds(seconds) for seconds in row.spread)
    spread = f" ({low} to {high})" if len(row.turns) > 1 else ""
    return readable_seconds(row.seconds) + spread


def _share(row: Row, bandwidth: float | None) -> str:
    if not row.moved or not bandwidth or not row.seconds:
        return ""
    return f"{100 * row.moved / row.seconds / bandwidth:.0f} %"


def _line(row: Row, ours: Row | None, results: Results) -> list[str | Cell]:
    if not row.turns:
        reason = row.failed or "not run"
        return [row.peer, reason, *([""] * (len(HEAD) - 2))]
    ratio = ""
    if row.compared and ours is not None and ours.seconds:
        ratio = f"{row.seconds / ours.seconds:.3g}"
    bandwidth = results.bandwidth
    remarks = [row.note] if row.note else []
    if "accuracy" in row.facts:
        remarks.append(f"test accuracy {100 * row.facts['accuracy']:.2f} %")
    if "T" in row.facts:
        remarks.append(f"T = {row.facts['T']:.3g}")
    if row.facts.get("settings", 1) > 1:
        remarks.append(f"{row.facts['settings']:,} settings")
    return [
        row.peer,
        Cell(_time(row), "estimated" if row.note else ""),
        ratio,
        "" if row.setup_seconds is None else readable_seconds(row.setup_seconds),
        "" if row.memory is None else format_bytes(row.memory),
        "" if row.products is None else f"{row.products:,}",
        "" if row.moved is None else format_bytes(row.moved),
        _share(row, bandwidth.get("copy")),
        _share(row, bandwidth.get("gather")),
        "" if row.difference is None else f"{row.difference:.1e}",
        "" if row.agreement is None else f"{row.agreement:.4g}",
        "; ".join(remarks),
    ]


def work_table(results: Results, work: str) -> Table:
    """The rows of a work, without the columns that have nothing to say."""
    rows, ours = results.of(work), results.find(work)
    lines = [_line(row, ours, results) for row in rows]
    kept = [0, *(i for i in range(1, len(HEAD)) if any(line[i] for line in lines))]
    title = work
    about = results.data.get(rows[0].data)
    if about:
        title += f" — {about['title']}"
    return Table(title, [HEAD[i] for i in kept], [[line[i] for i in kept] for line in lines])


def figure_table(benchmark: Benchmark, results: Results | None) -> Table:
    empty = Results(benchmark.name, {}, 0, 1.0, 0.0, {}, {}, [])
    rows = [
        [
            figure.label,
            "" if figure.value is None else f"{figure.value:.3g}",
            figure.wanted,
            Cell(figure.verdict, marked=figure.verdict == "MISSED"),
        ]
        for figure in benchmark.figures(results or empty)
    ]
    return Table("Figures", ["figure", "measured", "wanted", ""], rows)


def ahead(every: Iterable[Results]) -> list[Part]:
    """Where a peer takes less time or less memory than heatgraph, and by how much."""
    faster, leaner = [], []
    for results in every:
        for work in results.works:
            ours = results.find(work)
            if ours is None or not ours.turns:
                continue
            for row in results.of(work):
                if row.is_ours or not row.compared or not row.turns:
                    continue
                remark = row.note
                if row.seconds * MARGIN < ours.seconds:
                    times = [readable_seconds(one.seconds) for one in (row, ours)]
                    ratio = f"{ours.seconds / row.seconds:.3g}"
                    faster.append([work, row.peer, *times, ratio, remark])
                if None in (row.memory, ours.memory):
                    continue
                if row.memory * MARGIN + LEAST_MEMORY < ours.memory:
                    sizes = [format_bytes(one.memory) for one in (row, ours)]
                    ratio = f"{ours.memory / max(row.memory, 1):.3g}"
                    leaner.append([work, row.peer, *sizes, ratio, remark])
    parts: list[Part] = []
    head = ["work", "peer", "its", "heatgraph's", "heatgraph's / its", "remark"]
    for kind, rows in (("time", faster), ("memory", leaner)):
        if rows:
            parts.append(Table(f"Less {kind} than heatgraph", head, rows, 2))
        else:
            parts.append(f"In {kind}: nowhere, in what was run.")
    return parts


def _section(benchmark: Benchmark, results: Results | None) -> Section:
    parts: list[Part] = list(benchmark.about)
    if results is None:
        parts += [f"**Not run.** `make bench BENCH={benchmark.name}` does it."]
        parts += [figure_table(benchmark, None)]
        return Section(benchmark.name, benchmark.title, parts)
    if results.scale != 1:
        parts.append(
            f"**A run at scale {results.scale:g}, to try the benchmark out**: synthetic graphs are "
            "that much smaller, and figures that are wanted of them mean nothing."
        )
    parts.append(figure_table(benchmark, results))
    parts += [work_table(results, work) for work in results.works]
    parts += benchmark.charts(results)
    bandwidth = results.bandwidth
    if bandwidth:
        parts.append(
            "Before the run this machine copied {copy:.1f} GB/s (read and written), and gathered "
            "rows of 64 numbers at {gather:.1f} GB/s from an array of 512 MB and at "
            "{gather_cached:.1f} GB/s from one of 1 MB.".format(
                **{k: v / 1e9 for k, v in bandwidth.items()}
            )
        )
    limit = f" Limit: {results.limit:g} s." if results.limit else ""
    parts.append(f"Rounds: {results.rounds}.{limit}")
    parts.append(runs_table([results.run]))
    return Section(benchmark.name, benchmark.title, parts)


PREFACE = (
    "Written by `python -m benchmarks report` out of what `make bench` measured; `make bench "
    "BENCH=NAME` runs one benchmark, of " + ", ".join(f"`{name}`" for name in BENCHMARKS) + ".",
    "**How it is measured.** Every turn of every peer is a process of its own. Peers take turns "
    "within a round, and what is given is the median over rounds, with the fastest and the slowest "
    "turn; quick work is repeated for half a second in each. A tiny graph goes first, so that "
    "imports and compilation are not counted, and setting up (a matrix in the library's own form) "
    "is given apart. Seconds are of a shared machine; ratios are of one run.",
    "**What the columns are.** *Memory* is the peak beyond what there was before the work, so that "
    "input is not in it. *Moved* are bytes that products read and write, as heatgraph's plan "
    "counts them, and for others the least that they must: entries, gathered rows, results. Per "
    "second they are a share of what the machine can copy and gather. *Error* is the difference, "
    "at a thousand rows and two columns, to the same in float64 by SciPy, relative to the result: "
    "it tells that a peer has done the same thing. (A tolerance bounds it relative to the "
    "features, which are larger.) *Agreement* is with heatgraph's result: "
    "the relative difference, or the share of equal predictions. A peer that was not run, did not "
    "finish or had not enough memory says so in its row.",
)


def document(every: dict[str, Results]) -> Document:
    sections = [_section(one, every.get(name)) for name, one in BENCHMARKS.items()]
    intro = (
        f"Every peer that takes less than heatgraph by more than {MARGIN - 1:.0%}, out of all rows "
        "above. Estimated rows are among them."
    )
    parts = [intro, *ahead(every.values())] if every else ["**Not run.**"]
    sections.append(Section("ahead", "Where others are ahead", parts))
    return Document("Speed and scale against peers", list(PREFACE), sections)


def load(folder: Path) -> dict[str, Results]:
    paths = {name: folder / f"{name}.json" for name in BENCHMARKS}
    return {name: Results.load(path) for name, path in paths.items() if path.exists()}


def write_report(folder: Path, page: Path) -> None:
    """Make the page of the results in a folder, with its charts in figures/NAME beside it."""
    made = document(load(folder))
    figures = page.parent / "figures" / page.stem
    shutil.rmtree(figures, ignore_errors=True)
    with tempfile.TemporaryDirectory() as name:
        for chart in (chart for section in made.sections for chart in section.charts):
            figures.mkdir(parents=True, exist_ok=True)
            picture = next(p for p in write_chart(chart, Path(name)) if p.suffix == ".png")
            shutil.copy(picture, figures)
    page.parent.mkdir(parents=True, exist_ok=True)
    write_text(page, to_markdown(made, f"figures/{page.stem}"))


def show(benchmark: Benchmark, results: Results) -> None:
    """Print the tables."""
    from rich.console import Console
    from rich.table import Table as Grid

    from heatgraph.report.markdown import cell_text

    console = Console()
    console.width = max(console.width, WIDEST)
    tables = [work_table(results, work) for work in results.works]
    for table in (*tables, figure_table(benchmark, results)):
        grid = Grid(title=table.title, title_justify="left", box=None, header_style="bold")
        for place, name in enumerate(table.head):
            grid.add_column(name, justify="left" if place < table.text_columns else "right")
        for row in table.rows:
            grid.add_row(*map(cell_text, row))
        console.print(grid)
        console.print()
