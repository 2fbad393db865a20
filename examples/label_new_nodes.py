"""Nodes of Pubmed that join the graph one by one: how much of a full prediction each one takes."""

import time

import numpy as np

import heatgraph as hg

data = hg.load_dataset("pubmed")
train, _, _ = data.partition()
others = np.setdiff1d(np.arange(data.graph.num_nodes), train)
late = np.sort(np.random.default_rng(0).choice(others, 100, replace=False))
early = np.setdiff1d(np.arange(data.graph.num_nodes), late)
graph = data.graph.subgraph(early)
n, place = graph.num_nodes, np.full(data.graph.num_nodes, -1)
place[early] = np.arange(n)

clf = hg.DGCClassifier(T=4.3, weight_decay=1e-2, n_threads=1)
clf.fit(graph, data.labels[early], train=place[train])
clf.predict_new(data.graph.features[late[:1]])  # diffuses on the whole graph once

shares, seconds, full_seconds, differences = [], [], [], []
for node in late:
    X = data.graph.features[[node]]
    neighbours = place[data.graph.adjacency[[node]].indices]
    edges = [(n, known) for known in neighbours if known >= 0]
    start = time.process_time()
    found = clf.predict_proba_new(X, edges)
    seconds.append(time.process_time() - start)
    shares.append(clf.new_nodes_.work / clf.new_nodes_.full_work)
    grown = graph.with_nodes(X, edges)
    start = time.process_time()
    expected = clf.predict_proba(grown, nodes=[n])
    full_seconds.append(time.process_time() - start)
    differences.append(np.abs(found - expected).max())

print("Share of the multiply-adds of a prediction on the larger graph:")
print(f"  mean {np.mean(shares):.1%}, median {np.median(shares):.1%}, largest {max(shares):.1%};")
print(f"  more than 10 % for {np.mean(np.array(shares) > 0.1):.0%} of the nodes")
print(f"Share of its CPU time: {np.mean(seconds) / np.mean(full_seconds):.1%}")
print(f"Probabilities differ by at most {max(differences):.1e}")
