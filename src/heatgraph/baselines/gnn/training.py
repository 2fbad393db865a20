"""Training on the cross-entropy of training nodes, with early stopping on validation nodes.

Weight decay is L2 regularisation in the gradient, as in all original codes. Training is full-batch,
except for networks with a method `sampled_scores`. Networks with a method `pretrain` learn their
encoder first.
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
from heatgraph.learning.progress import Progress, StageProgress

Array = npt.NDArray[Any]
Inputs = tuple[Tensor, ...]


def train(
    module: Any,
    inputs: Inputs,
    recipe: Recipe,
    train_data: tuple[Array, Array],
    val_data: tuple[Array, Array] | None,
    progress: Progress | None,
) -> tuple[list[dict[str, float]], int | None]:
    """Train a network in place.

    Parameters
    ----------
    module : torch.nn.Module
    inputs : tuple of tensors
        Arguments of the module's `forward`.
    train_data, val_data : pair of arrays
        Nodes (m,) and the codes (m,) of their classes. With `val_data`, training stops after
        `recipe.patience` epochs in which neither the accuracy nor the loss there improved, and the
        best weights are restored.

    Returns
    -------
    history : list of dict
        Losses and accuracy of every epoch.
    best_epoch : int or None
        The one whose weights were restored; None without validation nodes.
    """
    if hasattr(module, "pretrain"):
        inputs, module = (module.pretrain(inputs, progress),), module.read
    optimize = getattr(torch.optim, recipe.optimizer)
    optimizer = optimize(_parameter_groups(module, recipe), recipe.learning_rate)
    nodes, codes = map(torch.from_numpy, train_data)
    history: list[dict[str, float]] = []
    best, best_loss, weights, epochs_without_gain = -1.0, np.inf, None, 0
    best_epoch: int | None = None
    stage = StageProgress(progress, "training", recipe.epochs)
    for epoch in range(recipe.epochs):
        stage.report(epoch)
        module.train()
        losses = [
            _step(optimizer, scores, codes[batch])
            for batch, scores in _batches(module, inputs, nodes)
        ]
        record = {"loss": float(np.mean(losses))}
        history.append(record)
        if val_data is None:
            continue
        record |= _validate(module, inputs, *map(torch.from_numpy, val_data))
        accuracy, loss = record["val_accuracy"], record["val_loss"]
        epochs_without_gain += 1
        if accuracy >= best or loss <= best_loss:
            epochs_without_gain = 0
            if accuracy >= best and (accuracy > best or loss <= best_loss):
                weights, best_epoch = copy.deepcopy(module.state_dict()), epoch
            best, best_loss = max(best, accuracy), min(best_loss, loss)
        if epochs_without_gain >= recipe.patience:
            break
    if weights is not None:
        module.load_state_dict(weights)
    stage.report(recipe.epochs)
    return history, best_epoch


def _parameter_groups(module: Any, recipe: Recipe) -> list[dict[str, Any]]:
    """Parameter groups of the optimiser, by weight decay."""
    if not recipe.decays_first_only:
        return [{"params": list(module.parameters()), "weight_decay": recipe.weight_decay}]
    first = list(module.first.parameters())
    first_ids = {id(weights) for weights in first}
    rest = [weights for weights in module.parameters() if id(weights) not in first_ids]
    return [{"params": first, "weight_decay": recipe.weight_decay}, {"params": rest}]


def _batches(module: Any, inputs: Inputs, nodes: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Positions in `nodes` and the scores there: all at once, or in batches if sampled."""
    if not hasattr(module, "sampled_scores"):
        yield torch.arange(len(nodes)), module(*inputs)[nodes]
        return
    for batch in torch.randperm(len(nodes)).split(module.batch):
        yield batch, module.sampled_scores(nodes[batch], *inputs)


def _step(optimizer: Any, scores: Tensor, codes: Tensor) -> float:
    optimizer.zero_grad()
    loss = cross_entropy(scores, codes)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def _validate(module: Any, inputs: Inputs, nodes: Tensor, codes: Tensor) -> dict[str, float]:
    module.eval()
    with torch.no_grad():
        scores = module(*inputs)[nodes]
    known = codes >= 0  # a class without a training node has no score
    loss = float(cross_entropy(scores[known], codes[known])) if known.any() else np.inf
    accuracy = float((scores.argmax(dim=1) == codes).double().mean())
    return {"val_loss": loss, "val_accuracy": accuracy}
