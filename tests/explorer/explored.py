"""Small models and data sets that the tests of the explorer share."""

import heatgraph as hg


def blocks(num_classes=3, n=300, **options):
    """A graph of blocks with features, labels and a split."""
    return hg.make_block_graph(n, 3 * n, num_classes, 12, signal=0.7, **options)


def fitted(data, **parameters):
    parameters = {"T": 3.0, "weight_decay": 1e-3, "extensions": None} | parameters
    train, val, _ = data.partition()
    return hg.DGCClassifier(**parameters).fit(data.graph, data.labels, train, val)
