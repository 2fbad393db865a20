"""The parameter `cluster` of estimators, which is a connection and no setting of a model."""

from __future__ import annotations

from copy import copy
from typing import Any

from sklearn.base import BaseEstimator


class ClusterParameter(BaseEstimator):
    """Base of estimators with a parameter `cluster`, which their clones share."""

    cluster: Any

    def __sklearn_clone__(self) -> Any:
        """Clone everything but the cluster, since a connection cannot be copied."""
        unconnected = copy(self)
        unconnected.cluster = None
        cloned = super(ClusterParameter, unconnected).__sklearn_clone__()
        cloned.cluster = self.cluster
        return cloned
