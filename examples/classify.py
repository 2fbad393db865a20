"""Label the nodes of a graph, with probabilities and reasons.

A generated graph of papers: each has a field, words that its field favours, and citations, most of
them within its field. Twenty papers of each field are labelled by hand, and 300 more to choose
settings by. What is the field of the others?
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import heatgraph as hg

PAPERS, WORDS = 5000, 800
FIELDS = np.array(["biology", "history", "law", "physics"])


def papers(random):
    field = random.integers(len(FIELDS), size=PAPERS)
    cites, cited = random.integers(PAPERS, size=(2, 8 * PAPERS))
    kept = (field[cites] == field[cited]) | (random.random(len(cites)) < 0.25)
    favour = random.gamma(0.6, size=(len(FIELDS), WORDS)) + 0.6
    favour *= 12 / favour.sum(axis=1, keepdims=True)
    words = sp.csr_array(random.poisson(favour[field]).astype(float))
    return hg.Graph.from_edges(cites[kept], cited[kept], features=words, symmetrize="max"), field


random = np.random.default_rng(0)
graph, field = papers(random)
labels = FIELDS[field]
order = random.permutation(PAPERS)
train = np.concatenate([order[field[order] == c][:20] for c in range(len(FIELDS))])
rest = np.setdiff1d(order, train)
val, test = rest[:300], rest[300:]
print(graph)

start = time.perf_counter()
clf = hg.DGCClassifier().fit(graph, labels, train=train, val=val)
print(f"{len(clf.search_):,} settings tried in {time.perf_counter() - start:.1f} s")
print(f"chosen: T = {clf.T_:.2f}, features scaled by {clf.feature_scaling_!r}")

alone = hg.DGCClassifier(T=0.0).fit(graph, labels, train=train, val=val)
majority = np.bincount(field[test]).max() / len(test)
print(f"largest class  {majority:.1%} right")
print(f"words alone    {alone.score(graph, labels, nodes=test):.1%} right")
print(f"with the graph {clf.score(graph, labels, nodes=test):.1%} right")

node = int(test[0])
sure = clf.predict_proba(nodes=test).max(axis=1)
print(f"it is {sure.mean():.1%} sure on average; paper {node} is called {clf.predict()[node]}:")
print(clf.explain(node, top=3))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "papers.safetensors"
    clf.save(path)
    same = (hg.load(path).predict(graph) == clf.predict()).all()
    print(f"saved in {path.stat().st_size:,} bytes, loaded, the same predictions: {same}")
