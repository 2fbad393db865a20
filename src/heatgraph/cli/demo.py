"""``heatgraph demo``: fit, evaluate and explain a model of Citeseer in a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatgraph.cli import options
from heatgraph.cli.output_files import check_outputs, name_in_errors
from heatgraph.cli.reporter import Reporter
from heatgraph.cli.terminal_chart import bar_chart

if TYPE_CHECKING:
    from heatgraph.graph import Graph
    from heatgraph.learning.explanation import Explanation

PYTHON_EQUIVALENT = """\
import heatgraph as hg

data = hg.load_dataset("citeseer")
labels, split = data.with_named_classes().labels, data.split
clf = hg.DGCClassifier().fit(data.graph, labels, split.train, split.val)
print(clf.T_, clf.score(data.graph, labels, nodes=split.test))"""


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
    from heatgraph.baselines.schemes import fit_features_alone
    from heatgraph.datasets.catalogue import load_dataset
    from heatgraph.learning.classifier import DGCClassifier
    from heatgraph.report.plots import accuracy_over_time, check_plot_name, plot_search

    check_plot_name(plot)
    check_outputs([], [plot])
    data = load_dataset("citeseer").with_named_classes()
    graph, labels, split = data.graph, data.labels, data.split
    assert labels is not None
    fields = sorted({labels[node] for node in split.train.tolist()})
    reporter.print(
        f"Citeseer: {graph.num_nodes:,} papers, {graph.num_features:,} words, "
        f"{graph.num_edges:,} citations. The field of {len(split.train)} papers is known: "
        f"{', '.join(fields)}. What are the others about?"
    )
    with reporter.fit_progress() as progress:
        model = DGCClassifier(random_state=seed, n_threads=threads)
        model.fit(graph, labels, split.train, split.val, progress=progress)
        alone = fit_features_alone(model, graph, labels, split.train, split.val)
        assert alone is not None
    scores = {
        "with the graph": model.score(graph, labels, split.test),
        "words alone": alone.score(graph, labels, split.test),
    }
    reporter.print(
        f"Tried {len(model.search_):,} settings on {len(split.val)} validation papers, and "
        f"chose T = {model.T_:.2f}: so long the words diffuse along citations."
    )
    reporter.table(
        [(name, f"{score:.1%}") for name, score in scores.items()],
        f"Accuracy on {len(split.test):,} test papers",
    )
    reporter.print()
    node = int(split.test[0])
    reporter.print(_tell_prediction(model.explain(node, top=3), node, labels, graph))
    with name_in_errors(plot):
        plot_search(model.search_, model.T_, plot, "Citeseer, public split")
    reporter.print()
    reporter.print("Accuracy of the best setting at each T, on validation papers", "bold")
    curve = accuracy_over_time(model.search_)
    for line in bar_chart(curve, reporter.width, model.T_, unicode=reporter.prints_unicode):
        reporter.verbatim(line)
    reporter.print(f"\nThe same curve is drawn in {plot}. The same in Python:\n")
    reporter.verbatim(f"{PYTHON_EQUIVALENT}\n")
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


def _tell_prediction(explanation: Explanation, node: int, labels: Any, graph: Graph) -> str:
    """Sentences on what one paper is predicted to be about, and why."""
    right = labels[node] == explanation.label
    verdict = "which is right" if right else f"but it is about {labels[node]}"
    cited = set(graph.indices[graph.indptr[node] : graph.indptr[node + 1]].tolist())
    sources = [
        "its own words"
        if record["node"] == node
        else f"those of paper {record['node']}"
        + (", a citation away" if record["node"] in cited else "")
        + f" ({labels[record['node']] or 'field unknown'})"
        for record in explanation.nodes
    ]
    words = ", ".join(
        f"{record['feature']} ({record['share']:+.2f})" for record in explanation.features
    )
    return (
        f"For example, paper {node} is taken to be about {explanation.label} with "
        f"{explanation.probability:.0%} probability, {verdict}. What speaks for it most: "
        f"{'; '.join(sources)}. The words that count most have the numbers {words}; the files do "
        "not spell them out."
    )
