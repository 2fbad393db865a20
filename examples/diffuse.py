"""Denoise features by diffusion on a graph of four communities.

The features of a node are the mean of its class plus strong noise, and most of its edges are within
its class. A nearest-centroid classifier with twenty labelled nodes per class is evaluated on the
features before and after diffusion.
"""

import time

import numpy as np

import heatgraph as hg

NODES, CLASSES, FEATURES, T, K = 4000, 4, 50, 5.3, 250


def make_communities(random):
    labels = random.integers(CLASSES, size=NODES)
    src, dst = random.integers(NODES, size=(2, 12 * NODES))
    is_edge = (labels[src] == labels[dst]) | (random.random(len(src)) < 0.15)
    means = random.normal(size=(CLASSES, FEATURES))
    features = means[labels] + 6.0 * random.normal(size=(NODES, FEATURES))
    graph = hg.Graph.from_edges(src[is_edge], dst[is_edge], features=features, symmetrize="max")
    return graph, labels


def accuracy(features, labels, labelled):
    means = np.array([features[labelled[c]].mean(axis=0) for c in range(CLASSES)])
    distances = np.linalg.norm(features[:, np.newaxis] - means, axis=2)
    unlabelled = np.setdiff1d(np.arange(NODES), np.concatenate(labelled))
    return (distances.argmin(axis=1) == labels)[unlabelled].mean()


def timed(function, *args, **options):
    start = time.perf_counter()
    result = function(*args, **options)
    return result, time.perf_counter() - start


random = np.random.default_rng(0)
graph, labels = make_communities(random)
labelled = [np.flatnonzero(labels == c)[:20] for c in range(CLASSES)]
print(graph)
print(f"T = {T}: {hg.plan(graph, T)}")

_, first_call = timed(hg.diffuse, graph.subgraph(range(10)), T)
diffused, fast = timed(hg.diffuse, graph, T, K)
literal, slow = timed(hg.diffuse, graph, T, K, method="steps")
error = np.linalg.norm(diffused - literal) / np.linalg.norm(graph.features)
plan = hg.plan(graph, T, K)
print(f"first call, compilation included: {first_call:.1f} s")
print(f"{K} literal steps: {1000 * slow:.0f} ms")
print(f"{plan.products} products of a Chebyshev series: {1000 * fast:.0f} ms")
print(f"speed-up: {slow / fast:.0f} times")
print(f"relative difference {error:.1e}, bound {plan.error_bound:.1e} + rounding")
before, after = (accuracy(X, labels, labelled) for X in (graph.features, diffused))
print(f"accuracy: {before:.1%} before diffusion, {after:.1%} after")
