"""``heatgraph diffuse``: diffuse the features of a graph into a NumPy file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatgraph._io.formatting import format_bytes, format_number, format_seconds
from heatgraph.cli import options
from heatgraph.cli.graph_argument import find_graph_argument
from heatgraph.cli.input_tables import read_and_report
from heatgraph.cli.output_files import check_outputs, name_in_errors
from heatgraph.cli.reporter import Reporter
from heatgraph.learning.progress import LEAST_TIMED

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from heatgraph._engine.plan import Plan
    from heatgraph.graph import Graph
    from heatgraph.schemes import Scheme
    from heatgraph.tables.from_tables import ReadResult

_DIFFUSION = "Diffusion"


@options.expand_groups
def diffuse(
    context: typer.Context,
    graph_or_nodes: options.GraphOrNodes,
    edges: options.Edges = None,
    data_folder: options.Data = None,
    *,
    T: Annotated[
        float,
        typer.Option("--T", min=0, metavar="X", help="Diffusion time.", rich_help_panel=_DIFFUSION),
    ],
    K: Annotated[int | None, options.steps_option(_DIFFUSION)] = None,
    scheme: Annotated[str | None, options.scheme_option(_DIFFUSION)] = None,
    self_loops: Annotated[bool, options.self_loops_option(_DIFFUSION)] = True,
    tol: Annotated[
        float,
        typer.Option(
            "--tol",
            help="Bound on the error, relative to the features; rounding comes on top.",
            rich_help_panel=_DIFFUSION,
        ),
    ] = 1e-6,
    dtype: Annotated[
        str,
        typer.Option(
            "--dtype",
            help="Precision.",
            rich_help_panel=_DIFFUSION,
            **options.choice(("float32", "float64")),
        ),
    ] = "float32",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write X_T to: .npy.")
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option(
            "--ids",
            help="File to write the node id of each row to: .csv or .parquet; by default "
            "NAME.ids.csv beside NAME.npy, if the graph has ids.",
        ),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            "--rows", help="File with one node id per line: these rows of X_T, in this order."
        ),
    ] = None,
    plan_only: Annotated[
        bool,
        typer.Option("--plan", help="Print what it would take, and stop before the diffusion."),
    ] = False,
    cluster: options.ClusterAddress = None,
    cluster_mode: options.ClusterMode = "auto",
    columns: options.ColumnOptions,
    labels: options.LabelOptions,
    resources: options.ResourceOptions,
    output_options: options.OutputOptions,
) -> None:
    """Diffuse the features of a graph for a time T into a NumPy file.

    Features are not scaled. After a kill, the same command resumes with the panels on disk.
    """
    reporter = Reporter(output_options)
    from heatgraph.cluster._connection import open_cluster
    from heatgraph.diffusion import check_engine
    from heatgraph.diffusion import plan as make_plan
    from heatgraph.schemes import scheme_from
    from heatgraph.tables.formats.file_errors import missing_file
    from heatgraph.tables.writing import table_format

    source = find_graph_argument(graph_or_nodes, edges, data_folder)
    options.check_steps(scheme, K)
    if output is None and not plan_only:
        raise typer.BadParameter("--output is missing. Name a file such as x_t.npy.")
    if output is not None and output.suffix != ".npy":
        raise typer.BadParameter(f"--output is a NumPy file, such as x_t.npy. Got '{output}'.")
    if cluster is None and cluster_mode != "auto":
        raise typer.BadParameter("--cluster-mode needs --cluster, the cluster to diffuse on.")
    if ids is not None:
        table_format(ids)
    inputs = [*source.files, *columns.feature_parts, rows]
    check_outputs(inputs, [output, ids or _default_ids(output)])
    if rows is not None and not rows.is_file():
        raise missing_file(rows)
    check_engine(tol, dtype, resources.memory, resources.threads)
    arguments: dict[str, Any] = {
        "scheme": scheme_from(T, K, scheme),
        "self_loops": self_loops,
        "tol": tol,
        "dtype": dtype,
        "out": output or Path("x_t.npy"),
    } | resources.parameters()
    # `--memory` may be that of a worker, which does not read tables.
    table_memory = resources.memory if cluster is None else None
    table_options = columns.table_options(table_memory, **vars(labels), task="auto")
    arguments["cluster"] = context.with_resource(open_cluster(cluster, cluster_mode))
    result, summary = read_and_report(
        reporter, source, table_options, without_features="X_T is the kernel, nodes by nodes"
    )
    graph = result.dataset.graph
    if rows is not None:
        arguments["rows"] = _positions(rows, graph, result.dataset.name)
    plan = make_plan(graph, **arguments)
    report: dict[str, Any] = {"read": summary, "plan": _plan_summary(plan, arguments["scheme"])}
    reporter.table(_plan_rows(plan), f"Plan: {arguments['scheme']}")
    if not plan_only:
        report |= _run(reporter, result, plan, arguments, ids)
    report |= {"warnings": reporter.warnings, "seconds": reporter.seconds}
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(report)


def _run(
    reporter: Reporter,
    result: ReadResult,
    plan: Plan,
    arguments: dict[str, Any],
    ids: Path | None,
) -> dict[str, Any]:
    """Diffuse, write both files, and report; returns what goes into the JSON report."""
    from heatgraph._engine.checkpoint import count_finished
    from heatgraph.cluster import ClusterPlan
    from heatgraph.diffusion import diffuse as diffuse_graph

    graph, output = result.dataset.graph, arguments["out"]
    blocks = None
    if isinstance(plan, ClusterPlan) and plan.mode == "blocks":
        blocks = plan.blocks
    resumed = count_finished(output, plan.panels, blocks)
    if resumed:
        reporter.print(f"Resuming: {resumed:,} of {len(plan.panels):,} panels are there.")
    before = reporter.seconds
    with reporter.long_progress("diffusing") as update, name_in_errors(output):

        def progress(done: int, total: int) -> None:
            update(_describe(done, total, plan, reporter.seconds - before), done, total)

        X_T = diffuse_graph(graph, **arguments, progress=progress)
    seconds = reporter.seconds - before
    size = output.stat().st_size
    reporter.print(
        f"Wrote X_T, {X_T.shape[0]:,} x {X_T.shape[1]:,} of {X_T.dtype} ({format_bytes(size)}), to "
        f"{output} in {format_seconds(seconds)}"
    )
    wrote = {"diffused": str(output)}
    if ids is None and graph.node_ids is not None:
        ids = _default_ids(output)
    if ids is not None:
        _write_ids(ids, graph, result.id_column, arguments.get("rows"))
        reporter.print(f"Wrote the ids of its rows to {ids}")
        wrote["ids"] = str(ids)
    diffused = {
        "shape": list(X_T.shape),
        "dtype": str(X_T.dtype),
        "bytes": size,
        "panels": len(plan.panels),
        "panels_resumed": resumed,
        "products": plan.products * (len(plan.panels) - resumed),
        "error_bound": plan.error_bound,
        "seconds": seconds,
    }
    return {"diffused": diffused, "wrote": wrote}


def _default_ids(output: Path | None) -> Path | None:
    return None if output is None else output.with_suffix(".ids.csv")


def _describe(done: int, total: int, plan: Plan, seconds: float) -> str:
    """Panels and products that are done, the rate, and the time left."""
    resumed = len(plan.panels) - total // plan.products
    text = (
        f"diffusing: {resumed + done // plan.products:,} of {len(plan.panels):,} panels, {done:,} "
        f"of {total:,} products"
    )
    if done and seconds >= LEAST_TIMED:
        rate = done / seconds
        left = format_seconds(round((total - done) / rate) or 1)
        text += f", {format_number(rate, digits=2)} a second, about {left} left"
    return text


def _plan_rows(plan: Plan) -> list[tuple[str, ...]]:
    from heatgraph.cluster import ClusterPlan

    how = "literal steps"
    if plan.degree is not None:
        how = f"Chebyshev degree {plan.degree}, error at most {plan.error_bound:.1e}"
    side = "features" if plan.side == "features" else "rows of the result"
    seconds = format_seconds(max(plan.seconds, 0.001), digits=2)
    rows: list[tuple[str, ...]] = [
        ("products", f"{plan.products:,}", how),
        (
            "panels",
            f"{len(plan.panels):,}",
            f"of {plan.panel_width:,} columns; {plan.columns:,} columns, one for each of the "
            f"{side}",
        ),
    ]
    if not isinstance(plan, ClusterPlan):
        return [
            *rows,
            ("memory", format_bytes(plan.memory), "beside the graph and its features"),
            ("time", seconds, f"estimated, with {plan.threads} threads"),
        ]
    cut = f", one panel at a time in {plan.blocks} blocks of rows" if plan.mode == "blocks" else ""
    return [
        ("mode", plan.mode, f"on {plan.workers} workers of {plan.threads} threads{cut}"),
        *rows,
        (
            "memory",
            format_bytes(plan.memory),
            f"per worker, with mapped files; the limit is {format_bytes(plan.worker_limit)}",
        ),
        ("network", format_bytes(plan.wire_bytes), "sent between client, scheduler and workers"),
        ("time", seconds, "estimated"),
    ]


def _plan_summary(plan: Plan, scheme: Scheme) -> dict[str, Any]:
    return asdict(plan) | {"panels": len(plan.panels), "scheme": str(scheme)}


def _positions(path: Path, graph: Graph, name: str) -> npt.NDArray[np.int64]:
    """Indices of the nodes whose ids a file lists, one per line."""
    import numpy as np

    from heatgraph.errors import InputError
    from heatgraph.tables.columns import did_you_mean

    positions = {str(node): at for at, node in enumerate(graph.names.tolist())}
    nodes = path.read_text(encoding="utf-8-sig").splitlines()
    for line, node in enumerate(nodes, 1):
        if node not in positions:
            hint = did_you_mean(node, list(positions))
            raise InputError(f"{path}, line {line}: {name} has no node {node!r}.{hint}")
    if not nodes:
        raise InputError(f"{path} is empty. Expected one node id per line.")
    return np.array([positions[node] for node in nodes])


def _write_ids(path: Path, graph: Graph, id_column: str, rows: Any) -> None:
    import pyarrow as pa

    from heatgraph.tables.writing import column_of, write_table

    names = graph.names if rows is None else graph.names[rows]
    with name_in_errors(path):
        write_table(pa.table({id_column: column_of(names)}), path)
