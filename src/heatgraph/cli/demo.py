"""``heatgraph demo``: Citeseer from end to end, in a few seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from heatgraph.cli import options
from heatgraph.cli.console import Voice
from heatgraph.cli.writing import check_outputs, writing

THE_SAME_IN_PYTHON = """\
import heatgraph as hg

data = hg.load_dataset("citeseer")
clf = hg.DGCClassifier().fit(data.graph, data.labels, data.split.train, data.split.val)
print(clf.T_, clf.score(data.graph, data.labels, nodes=data.split.test))"""


@options.grouped
def demo(
    plot: Annotated[
        Path, typer.Option("--plot", help="Where the plot of accuracy over T goes.")
    ] = Path("heatgraph-demo.png"),
    seed: options.Seed = 0,
    threads: options.Threads = None,
    *,
    report: options.Report,
) -> None:
    """Label the papers of Citeseer, which come with the package: no network, no files."""
    voice = Voice(report)
    from heatgraph.datasets.catalogue import load_dataset
    from heatgraph.learning.classifier import DGCClassifier
    from heatgraph.report.plots import check_plot_name, plot_search

    check_plot_name(plot)
    check_outputs([], [plot])
    data = load_dataset("citeseer")
    graph, labels, split = data.graph, data.labels, data.split
    voice.say(
        f"Citeseer: {graph.num_nodes:,} papers, {graph.num_features:,} words, "
        f"{graph.num_edges:,} citations. The fields of {len(split.train)} papers are known."
    )
    with voice.working("trying settings") as progress:
        model = DGCClassifier(random_state=seed, n_threads=threads)
        model.fit(graph, labels, split.train, split.val, progress=progress)
        alone = DGCClassifier(T=0.0, random_state=seed, n_threads=threads)
        alone.fit(graph, labels, split.train, split.val)
    scores = {
        "with the graph": model.score(graph, labels, split.test),
        "words alone": alone.score(graph, labels, split.test),
    }
    voice.say(
        f"Tried {len(model.search_):,} settings on {len(split.val)} validation papers, and "
        f"chose T = {model.T_:.2f}."
    )
    voice.table(
        [(name, f"{score:.1%}") for name, score in scores.items()],
        f"Accuracy on {len(split.test):,} test papers",
    )
    node = int(split.test[0])
    voice.say("\nWhy one of them got its field, exactly:")
    voice.say(repr(model.explain(node, top=3)))
    with writing(plot):
        plot_search(model.search_, model.T_, plot, "Citeseer, public split")
    voice.say(
        f"\nAccuracy over T is drawn in {plot}. The same in Python:\n\n{THE_SAME_IN_PYTHON}\n"
    )
    voice.say(f"Done in {voice.seconds:.1f} s")
    voice.json(
        {
            "T": model.T_,
            "settings_tried": len(model.search_),
            "test_accuracy": scores,
            "plot": str(plot),
            "seconds": voice.seconds,
        }
    )
