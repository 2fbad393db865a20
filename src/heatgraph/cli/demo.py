"""``heatgraph demo``: fit, evaluate and explain a model of Citeseer in a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.output_files import check_outputs, name_in_errors
from heatgraph.cli.reporter import Reporter

PYTHON_EQUIVALENT = """\
import heatgraph as hg

data = hg.load_dataset("citeseer")
clf = hg.DGCClassifier().fit(data.graph, data.labels, data.split.train, data.split.val)
print(clf.T_, clf.score(data.graph, data.labels, nodes=data.split.test))"""


@options.expand_groups
def demo(
    plot: Annotated[
        Path, typer.Option("--plot", help="File to write the plot of accuracy over T to.")
    ] = Path("heatgraph-demo.png"),
    seed: options.Seed = 0,
    threads: options.Threads = None,
    *,
    output_options: options.OutputOptions,
) -> None:
    """Label the papers of Citeseer, a bundled data set: no download is needed."""
    reporter = Reporter(output_options)
    from heatgraph.datasets.catalogue import load_dataset
    from heatgraph.learning.classifier import DGCClassifier
    from heatgraph.report.plots import check_plot_name, plot_search

    check_plot_name(plot)
    check_outputs([], [plot])
    data = load_dataset("citeseer")
    graph, labels, split = data.graph, data.labels, data.split
    reporter.print(
        f"Citeseer: {graph.num_nodes:,} papers, {graph.num_features:,} words, "
        f"{graph.num_edges:,} citations. The fields of {len(split.train)} papers are known."
    )
    with reporter.fit_progress() as progress:
        model = DGCClassifier(random_state=seed, n_threads=threads)
        model.fit(graph, labels, split.train, split.val, progress=progress)
        alone = DGCClassifier(T=0.0, random_state=seed, n_threads=threads)
        alone.fit(graph, labels, split.train, split.val)
    scores = {
        "with the graph": model.score(graph, labels, split.test),
        "words alone": alone.score(graph, labels, split.test),
    }
    reporter.print(
        f"Tried {len(model.search_):,} settings on {len(split.val)} validation papers, and "
        f"chose T = {model.T_:.2f}."
    )
    reporter.table(
        [(name, f"{score:.1%}") for name, score in scores.items()],
        f"Accuracy on {len(split.test):,} test papers",
    )
    node = int(split.test[0])
    reporter.print("\nContributions to the prediction of one test paper:")
    reporter.print(repr(model.explain(node, top=3)))
    with name_in_errors(plot):
        plot_search(model.search_, model.T_, plot, "Citeseer, public split")
    reporter.print(
        f"\nAccuracy over T is drawn in {plot}. The same in Python:\n\n{PYTHON_EQUIVALENT}\n"
    )
    reporter.print(f"Done in {reporter.seconds:.1f} s")
    reporter.json(
        {
            "T": model.T_,
            "settings_tried": len(model.search_),
            "test_accuracy": scores,
            "plot": str(plot),
            "seconds": reporter.seconds,
        }
    )
