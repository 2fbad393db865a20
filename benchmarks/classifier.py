"""Fitting, predicting and searching against the published algorithm at its settings."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import torch

from benchmarks import peers
from benchmarks.citations import read
from benchmarks.turns import compare, take_turns, write
from heatgraph import DGCClassifier
from heatgraph.heads import initial_weights
from heatgraph.paper.settings import AUTHORS
from heatgraph.scaling import Scaling

WANTED = {"cora": 50, "citeseer": 150, "pubmed": 300}


def run(rounds: int) -> None:
    figures, lines, seconds = [], [], {}
    for name, setting in AUTHORS.items():
        data = read(name)
        if data is None:
            print(f"{name}: no files; HEATGRAPH_DATA names the parent of their folder")
            continue
        graph, labels = data.graph, data.labels
        S = graph.operator().to_scipy()
        scaled = Scaling("rows").apply(graph.features, np.dtype(np.float32)).toarray()
        # The authors' code gives nodes without a label to the first class; none is trained on.
        X, y = torch.from_numpy(scaled), torch.from_numpy(np.maximum(labels, 0))
        train = torch.from_numpy(data.split.train)

        def published(start=None, S=S, X=X, y=y, train=train, setting=setting):
            return peers.published_fit(S, X, y, train, setting, start)

        def ours(graph=graph, labels=labels, train=data.split.train, setting=setting):
            return setting.classifier().fit(graph, labels, train=train).predict()

        def search(graph=graph, labels=labels, train=data.split.train, val=data.split.val):
            return DGCClassifier().fit(graph, labels, train=train, val=val)

        times = take_turns(
            {"published algorithm": published, "heatgraph": ours, "whole search": search}, rounds
        )
        ratio = times["published algorithm"].median / times["heatgraph"].median
        share = times["whole search"].median / times["published algorithm"].median
        start = initial_weights(scaled.shape[1], int(labels.max()) + 1, np.float32, seed=0)
        agree = float((published((start[:, :-1], start[:, -1])) == ours()).mean())
        tried = len(search().search_)
        figures += [
            (f"{name}: published / heatgraph", ratio, f">= {WANTED[name]}"),
            (f"{name}: same prediction, share of nodes", agree, ">= 0.999"),
            (f"{name}: whole search / one published fit", share, "<= 0.1" * (name == "pubmed")),
        ]
        lines += [name, *(f"  {way:<22}{timing}" for way, timing in times.items())]
        lines += [f"  the search tried {tried:,} settings", ""]
        seconds[name] = {way: asdict(timing) for way, timing in times.items()}
    lines = [
        "Fit and predict all nodes at the published settings (Adam, 100 epochs), from features to",
        "labels. The published algorithm gets S and scaled features ready-made.",
        "",
        *lines,
        *compare(figures),
    ]
    text = "\n".join(lines)
    print(text)
    facts = {"figures": {label: value for label, value, _ in figures}, "seconds": seconds}
    write("classifier", "The classifier against the published algorithm", text, facts)
