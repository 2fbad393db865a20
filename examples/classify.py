"""Label the nodes of a graph, with probabilities and explanations.

The graph is synthetic: papers have a field, word counts that depend on the field, and citations,
most of them within the field. Twenty papers of each field are for training and 300 for validation,
on which the settings are chosen; the field of all others is predicted.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import heatgraph as hg

PAPERS, WORDS = 5000, 800
FIELDS = np.array(["biology", "history", "law", "physics"])


def make_papers(random):
    field = random.integers(len(FIELDS), size=PAPERS)
    cites, cited = random.integers(PAPERS, size=(2, 8 * PAPERS))
    is_kept = (field[cites] == field[cited]) | (random.random(len(cites)) < 0.25)
    rates = random.gamma(0.6, size=(len(FIELDS), WORDS)) + 0.6
    rates *= 12 / rates.sum(axis=1, keepdims=True)
    words = sp.csr_array(random.poisson(rates[field]).astype(float))
    graph = hg.Graph.from_edges(cites[is_kept], cited[is_kept], features=words, symmetrize="max")
    return graph, field


random = np.random.default_rng(0)
graph, field = make_papers(random)
labels = FIELDS[field]
split = hg.random_split(labels, per_class=20, val=300, test=PAPERS - 20 * len(FIELDS) - 300)
train, val, test = split.train, split.val, split.test
print(graph)

start = time.perf_counter()
clf = hg.DGCClassifier().fit(graph, labels, train=train, val=val)
print(f"{len(clf.search_):,} settings tried in {time.perf_counter() - start:.1f} s")
print(f"best: T = {clf.T_:.2f}, features scaled by {clf.feature_scaling_!r}")

alone = hg.DGCClassifier(T=0.0).fit(graph, labels, train=train, val=val)
majority = np.bincount(field[test]).max() / len(test)
print(f"accuracy of the largest class: {majority:.1%}")
print(f"accuracy of words alone: {alone.score(graph, labels, nodes=test):.1%}")
print(f"accuracy with the graph: {clf.score(graph, labels, nodes=test):.1%}")

node = int(test[0])
confidence = clf.predict_proba(nodes=test).max(axis=1)
print(f"mean confidence: {confidence.mean():.1%}")
print(f"why paper {node} is labelled {clf.predict()[node]}:")
print(clf.explain(node, top=3))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "papers.safetensors"
    clf.save(path)
    is_same = (hg.load(path).predict(graph) == clf.predict()).all()
    print(f"file of {path.stat().st_size:,} bytes; same predictions after loading: {is_same}")
