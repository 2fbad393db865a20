"""Diffuse noisy features on a graph of four communities, and see what it does for labels.

Each node has a class; its features are its class's mean buried in noise, and most of its edges lead
to its own class. Twenty nodes of each class are labelled. A node goes to the class whose labelled
nodes have the nearest mean: first by its features as they are, then after diffusion.
"""

import time

import numpy as np

import heatgraph as hg

NODES, CLASSES, FEATURES, T, K = 4000, 4, 50, 5.3, 250


def communities(random):
    labels = random.integers(CLASSES, size=NODES)
    src, dst = random.integers(NODES, size=(2, 12 * NODES))
    kept = (labels[src] == labels[dst]) | (random.random(len(src)) < 0.15)
    means = random.normal(size=(CLASSES, FEATURES))
    features = means[labels] + 6.0 * random.normal(size=(NODES, FEATURES))
    graph = hg.Graph.from_edges(src[kept], dst[kept], features=features, symmetrize="max")
    return graph, labels


def accuracy(features, labels, labelled):
    means = np.array([features[labelled[c]].mean(axis=0) for c in range(CLASSES)])
    distances = np.linalg.norm(features[:, np.newaxis] - means, axis=2)
    unseen = np.setdiff1d(np.arange(NODES), np.concatenate(labelled))
    return (distances.argmin(axis=1) == labels)[unseen].mean()


def timed(function, *args, **options):
    start = time.perf_counter()
    result = function(*args, **options)
    return result, time.perf_counter() - start


random = np.random.default_rng(0)
graph, labels = communities(random)
labelled = [np.flatnonzero(labels == c)[:20] for c in range(CLASSES)]
print(graph)
print(f"T = {T}: {hg.plan(graph, T)}")

_, compiling = timed(hg.diffuse, graph.subgraph(range(10)), T)
diffused, short = timed(hg.diffuse, graph, T, K)
literal, long = timed(hg.diffuse, graph, T, K, method="steps")
error = np.linalg.norm(diffused - literal) / np.linalg.norm(graph.features)
course = hg.plan(graph, T, K)
print(f"first call, compilation included: {compiling:.1f} s")
print(f"{K} literal steps: {1000 * long:.0f} ms")
print(f"{course.products} products instead: {1000 * short:.0f} ms, {long / short:.0f} times faster")
print(
    f"difference {error:.1e} of the features' norm, certified {course.error_bound:.1e} + rounding"
)
before, after = (accuracy(X, labels, labelled) for X in (graph.features, diffused))
print(f"nearest class mean: {before:.1%} right before diffusion, {after:.1%} after")
