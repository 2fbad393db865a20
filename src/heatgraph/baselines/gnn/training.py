"""Epochs of an optimiser on the cross-entropy of training nodes, and the best weights so far.

Weight decay is in the gradient, as all of the original codes have it. Training is full-batch, but
for networks that sample.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from heatgraph.baselines.gnn.recipes import Recipe
from heatgraph.learning._search import Progress

Array = npt.NDArray[Any]
Inputs = tuple[Tensor, ...]


def train(
    module: Any,
    inputs: Inputs,
    recipe: Recipe,
    learning: tuple[Array, Array],
    checking: tuple[Array, Array] | None,
    report: Progress,
) -> tuple[list[dict[str, float]], float | None]:
    """Fit a network to nodes and their codes; give the record of every epoch and the best accuracy.

    If there are nodes to check on, training stops `patience` epochs after neither accuracy nor loss
    got better there, and the weights that were best are left in the module.
    """
    if hasattr(module, "pretrain"):
        inputs, module = (module.pretrain(inputs, report),), module.read
    optimize = getattr(torch.optim, recipe.optimizer)
    optimizer = optimize(_groups(module, recipe), recipe.learning_rate)
    nodes, codes = map(torch.from_numpy, learning)
    history: list[dict[str, float]] = []
    best, best_loss, weights, waited = -1.0, np.inf, None, 0
    for epoch in range(recipe.epochs):
        report("training", epoch, recipe.epochs)
        module.train()
        losses = [
            _step(optimizer, scores, codes[batch])
            for batch, scores in _batches(module, inputs, nodes)
        ]
        record = {"loss": float(np.mean(losses))}
        history.append(record)
        if checking is None:
            continue
        record |= _check(module, inputs, *map(torch.from_numpy, checking))
        accuracy, loss = record["val_accuracy"], record["val_loss"]
        waited += 1
        if accuracy >= best or loss <= best_loss:
            waited = 0
            if accuracy >= best and (accuracy > best or loss <= best_loss):
                weights = copy.deepcopy(module.state_dict())
            best, best_loss = max(best, accuracy), min(best_loss, loss)
        if waited >= recipe.patience:
            break
    if weights is not None:
        module.load_state_dict(weights)
    report("training", recipe.epochs, recipe.epochs)
    return history, None if checking is None else best


def _groups(module: Any, recipe: Recipe) -> list[dict[str, Any]]:
    """Parameters with the weight decay that each has."""
    if not recipe.decays_first_only:
        return [{"params": list(module.parameters()), "weight_decay": recipe.weight_decay}]
    first = list(module.first.parameters())
    known = {id(weights) for weights in first}
    rest = [weights for weights in module.parameters() if id(weights) not in known]
    return [{"params": first, "weight_decay": recipe.weight_decay}, {"params": rest}]


def _batches(module: Any, inputs: Inputs, nodes: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Places in `nodes`, and the scores there: all at once, or batches if a network samples."""
    if not hasattr(module, "sampled"):
        yield torch.arange(len(nodes)), module(*inputs)[nodes]
        return
    for batch in torch.randperm(len(nodes)).split(module.batch):
        yield batch, module.sampled(nodes[batch], *inputs)


def _step(optimizer: Any, scores: Tensor, codes: Tensor) -> float:
    optimizer.zero_grad()
    loss = cross_entropy(scores, codes)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def _check(module: Any, inputs: Inputs, nodes: Tensor, codes: Tensor) -> dict[str, float]:
    module.eval()
    with torch.no_grad():
        scores = module(*inputs)[nodes]
    known = codes >= 0  # a class without a training node has no score
    loss = float(cross_entropy(scores[known], codes[known])) if known.any() else np.inf
    accuracy = float((scores.argmax(dim=1) == codes).double().mean())
    return {"val_loss": loss, "val_accuracy": accuracy}
