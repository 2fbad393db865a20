"""A fitted model as plain values and arrays, which is how it goes into a file."""

from __future__ import annotations

import contextlib
import platform
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from heatgraph.diffusion import check_engine
from heatgraph.errors import FileFormatError, InputError, StabilityWarning
from heatgraph.learning._search_space import Setting
from heatgraph.learning.scaling import Scaling
from heatgraph.schemes import Scheme, scheme_from_record, scheme_record

Array = npt.NDArray[Any]

# Columns of the table of a search.
RECORD = ("scheme", "T", "K", "self_loops", "feature_scaling", "weight_decay", "learning_rate",
          "accuracy", "log_loss")  # fmt: skip


def to_json_value(value: Any) -> Any:
    """Plain values for JSON, with schemes in them spelled out."""
    if isinstance(value, Scheme):
        return scheme_record(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json_value(entry) for entry in value]
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.dtype | type):
        return np.dtype(value).name
    raise InputError(
        f"{value!r} cannot be written into a file: it is a {type(value).__name__}, and neither a "
        "number nor a text."
    )


def from_json_value(value: Any) -> Any:
    """Read again what `to_json_value` wrote."""
    if isinstance(value, dict):
        return scheme_from_record(value)
    return [from_json_value(entry) for entry in value] if isinstance(value, list) else value


@contextlib.contextmanager
def model_file_errors(path: str | Path) -> Iterator[None]:
    """Refuse a file whose content does not make a model."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} does not hold a whole model: {error!r}.") from error


def serialize_parameters(model: Any) -> dict[str, Any]:
    """An estimator's parameters as plain values."""
    parameters = model.get_params(deep=False)
    if not isinstance(parameters["random_state"], int | np.integer | None):
        parameters["random_state"] = None  # a generator's state is of no use to a fitted model
    return {name: to_json_value(value) for name, value in parameters.items()}


def serialize_classes(classes: Array) -> dict[str, Any]:
    """Classes as plain values, which `deserialize_classes` reads."""
    for label in classes.tolist():
        if not isinstance(label, str | bool | int | float | np.number | np.bool_):
            raise InputError(
                f"label {label!r} cannot be written into a file: it is a {type(label).__name__}, "
                "and neither a number nor a text."
            )
    return {"classes": to_json_value(classes), "classes_kind": classes.dtype.kind}


def serialize_model(model: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Plain values and arrays that make a model."""
    content = {
        "parameters": serialize_parameters(model),
        **serialize_classes(model.classes_),
        "scheme": scheme_record(model.scheme_),
        "self_loops": bool(model.self_loops_),
        "feature_scaling": model.feature_scaling_,
        "weight_decay": model.weight_decay_,
        "learning_rate": model.learning_rate_,
        "converged": model.converged_,
        "temperature": model.temperature_,
        "num_features": model.n_features_in_,
        "feature_names": getattr(model, "feature_names_in_", None),
        "nodes_digest": model._nodes_digest,
        "validation_accuracy": model.validation_accuracy_,
        "search": {key: [record[key] for record in model.search_] for key in RECORD},
        "versions": _versions(),
    }
    tensors = {"Theta": model.coef_.T, "bias": model.intercept_}
    for name in ("factor", "shift"):
        if getattr(model.scaling_, name) is not None:
            tensors[name] = getattr(model.scaling_, name)
    return content, tensors


def deserialize_model(
    make: Callable[..., Any], content: dict[str, Any], tensors: dict[str, Array]
) -> Any:
    """Make a model of what a file says, if all of it fits together; `make` takes parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StabilityWarning)  # said when it was fitted
        parameters = {name: from_json_value(value) for name, value in content["parameters"].items()}
        scheme = scheme_from_record(content["scheme"])
        model = make(**parameters)
        model._space()
    check_engine(**model._engine())
    model.classes_ = deserialize_classes(content)
    d, C = tensors["Theta"].shape
    scaling = Scaling(content["feature_scaling"], tensors.get("factor"), tensors.get("shift"))
    scaling.check(content["num_features"])
    expected = {"Theta": (d, C), "bias": (C,)}
    for name, shape in expected.items():
        tensor = tensors[name]
        whole = tensor.shape == shape and tensor.dtype in (np.float32, np.float64)
        if not whole or not np.isfinite(tensor).all():
            raise ValueError(f"{name} is not what it should be")
    temperature, num_features = float(content["temperature"]), content["num_features"]
    if len(model.classes_) != C or num_features not in (0, d) or not isinstance(num_features, int):
        raise ValueError("the numbers of classes or features contradict each other")
    if not 0 < temperature < np.inf or not isinstance(content["self_loops"], bool):
        raise ValueError("a setting is not what it should be")
    setting = Setting(
        scheme,
        content["self_loops"],
        scaling.name,
        float(content["weight_decay"]),
        float(content["learning_rate"]),
    )
    model._settle(setting, scaling, tensors["Theta"].T, tensors["bias"])
    model.n_features_in_ = num_features
    names, digest = content["feature_names"], content["nodes_digest"]
    named = names is None or (len(names) == d and all(isinstance(name, str) for name in names))
    if not named or not isinstance(digest, str | None):
        raise ValueError("the names of features or nodes are not what they should be")
    model._recognise(names, digest)
    accuracy = content["validation_accuracy"]
    model.validation_accuracy_ = None if accuracy is None else float(accuracy)
    model.converged_ = bool(content["converged"])
    model.temperature_ = temperature
    rows = zip(*(content["search"][key] for key in RECORD), strict=True)
    model.search_ = [dict(zip(RECORD, row, strict=True)) for row in rows]
    return model


def deserialize_classes(content: dict[str, Any]) -> Array:
    """Read classes as an array of the kind they had: numbers, texts, booleans or a mixture."""
    values, kind = content["classes"], content["classes_kind"]
    if len(values) < 2 or len(set(values)) < len(values):
        raise ValueError("classes must be two or more, and distinct")
    if not all(isinstance(value, str | bool | int | float) for value in values):
        raise TypeError("classes must be numbers or texts")
    if kind == "O":
        classes = np.empty(len(values), dtype=object)
        classes[:] = values
        return classes
    classes = np.array(values)
    if classes.dtype.kind not in (kind, "i" if kind == "u" else kind):
        raise ValueError(f"classes are not of the kind {kind!r}")
    return classes


def _versions() -> dict[str, str]:
    from importlib.metadata import version

    packages = ("heatgraph", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
