"""Fitted models as JSON values and arrays, the content of a model file.

`FittedModel` is the boundary between files and estimators: `serialize_model` writes one,
`deserialize_model` makes one of a file's content and checks that its parts fit together, and an
estimator converts itself to one and back. Nothing here imports an estimator.
"""

from __future__ import annotations

import contextlib
import platform
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from heatgraph._arguments import exact_array
from heatgraph.errors import FileFormatError, InputError, StabilityWarning
from heatgraph.graph import Graph
from heatgraph.graph._storage import deserialize_graph, read_encoder, serialize_graph
from heatgraph.learning._channels import HOPS, LINKS
from heatgraph.learning._search_space import Setting
from heatgraph.learning._shift import GraphProfile
from heatgraph.learning.scaling import Scaling
from heatgraph.schemes import Scheme, scheme_from_record, scheme_record

if TYPE_CHECKING:
    from heatgraph.encoding.encoder import FeatureEncoder

Array = npt.NDArray[Any]

# Columns of the table of a search.
SEARCH_COLUMNS = ("scheme", "T", "K", "self_loops", "feature_scaling", "weight_decay",
                  "learning_rate", "score", "standard_error", "accuracy", "log_loss",
                  "head")  # fmt: skip
# What names of tensors begin with: weights of a channel, and arrays of the graph.
CHANNEL, GRAPH = "channel_", "graph."


@dataclass(frozen=True)
class FittedModel:
    """All that a fitted `DGCClassifier` consists of, except the graph.

    `parameters` are constructor arguments, `coef` and `similar_coef` are (C, d), `intercept` and
    `class_offsets` (C,), `channel_coefs` (C, p_c) by name, and `nodes_digest` identifies the nodes
    of a model that knows them by position.
    """

    parameters: dict[str, Any]
    classes: Array
    setting: Setting
    scaling: Scaling
    coef: Array
    similar_coef: Array | None
    intercept: Array
    converged: bool
    temperature: float
    num_features: int
    feature_names: list[str] | None
    nodes_digest: str | None
    validation_accuracy: float | None
    validation_score: float | None
    search: list[dict[str, Any]]
    member_weights: dict[str, float]
    class_offsets: Array | None
    final_fit_nodes: int
    profile: GraphProfile | None = None
    channel_coefs: dict[str, Array] = field(default_factory=dict)
    feature_encoder: FeatureEncoder | None = None


def to_json_value(value: Any) -> Any:
    """Convert numbers, strings, arrays, dtypes, schemes, lists and mappings to JSON values."""
    if isinstance(value, Scheme):
        return scheme_record(value)
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [to_json_value(entry) for entry in value]
    if isinstance(value, Mapping):
        # JSON's keys are strings, and labels may be numbers.
        return {"mapping": [[to_json_value(k), to_json_value(v)] for k, v in value.items()]}
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.dtype | type):
        return np.dtype(value).name
    raise InputError(
        f"{value!r} cannot be written into a file: it is a {type(value).__name__}, and neither a "
        "number nor a string."
    )


def from_json_value(value: Any) -> Any:
    """Convert back what `to_json_value` made; a dictionary is a mapping or a scheme."""
    if isinstance(value, dict) and "mapping" in value:
        return {from_json_value(key): from_json_value(entry) for key, entry in value["mapping"]}
    if isinstance(value, dict):
        return scheme_from_record(value)
    return [from_json_value(entry) for entry in value] if isinstance(value, list) else value


@contextlib.contextmanager
def model_file_errors(path: str | Path) -> Iterator[None]:
    """Turn errors from invalid content into a `FileFormatError` that names the file."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise FileFormatError(f"{path} does not hold a valid model: {error!r}.") from error


def result_parameters(model: Any) -> dict[str, Any]:
    """Parameters of an estimator that results depend on, as JSON values: all but the cluster."""
    return {
        name: to_json_value(value)
        for name, value in model.get_params(deep=False).items()
        if name != "cluster"
    }


def serialize_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments of an estimator as JSON values, without those of this session."""
    parameters = {name: value for name, value in parameters.items() if name != "cluster"}
    if not isinstance(parameters["random_state"], int | np.integer | None):
        # The state of a generator is of no use to a fitted model.
        parameters = parameters | {"random_state": None}
    return {name: to_json_value(value) for name, value in parameters.items()}


def deserialize_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Constructor arguments from what `serialize_parameters` made."""
    return {name: from_json_value(value) for name, value in parameters.items()}


def serialize_classes(classes: Array) -> dict[str, Any]:
    """Classes as JSON values, for `deserialize_classes`."""
    for label in classes.tolist():
        if not isinstance(label, str | bool | int | float | np.number | np.bool_):
            raise InputError(
                f"label {label!r} cannot be written into a file: it is a {type(label).__name__}, "
                "and neither a number nor a string."
            )
    return {"classes": to_json_value(classes), "classes_kind": classes.dtype.kind}


def deserialize_classes(content: dict[str, Any], least: int = 2) -> Array:
    """Classes as an array of the kind they had: numbers, strings, booleans or a mixture."""
    values, kind = content["classes"], content["classes_kind"]
    if len(values) < least or len(set(values)) < len(values):
        least_named = "two" if least == 2 else "one"
        raise ValueError(f"classes must be {least_named} or more, and distinct")
    if not all(isinstance(value, str | bool | int | float) for value in values):
        raise TypeError("classes must be numbers or strings")
    if kind == "O":
        classes = np.empty(len(values), dtype=object)
        classes[:] = values
        return classes
    classes = exact_array(values)
    if classes.dtype.kind not in (kind, "i" if kind == "u" else kind):
        raise ValueError(f"classes are not of the kind {kind!r}")
    return classes


def serialize_model(model: FittedModel) -> tuple[dict[str, Any], dict[str, Array]]:
    """The JSON values and the arrays of a model."""
    content = {
        "parameters": serialize_parameters(model.parameters),
        **serialize_classes(model.classes),
        "scheme": scheme_record(model.setting.scheme),
        "self_loops": bool(model.setting.self_loops),
        "feature_scaling": model.setting.feature_scaling,
        "weight_decay": model.setting.weight_decay,
        "learning_rate": model.setting.learning_rate,
        "converged": model.converged,
        "temperature": model.temperature,
        "num_features": model.num_features,
        "feature_names": model.feature_names,
        "feature_encoder": model.feature_encoder and model.feature_encoder.to_json(),
        "nodes_digest": model.nodes_digest,
        "validation_accuracy": model.validation_accuracy,
        "validation_score": model.validation_score,
        "search": {key: [record[key] for record in model.search] for key in SEARCH_COLUMNS},
        "member_weights": model.member_weights,
        "class_offsets": to_json_value(model.class_offsets),
        "final_fit_nodes": model.final_fit_nodes,
        "versions": library_versions(),
    }
    tensors = {"Theta": model.coef.T, "bias": model.intercept, **model.scaling.to_tensors()}
    if model.similar_coef is not None:
        tensors["similar_Theta"] = model.similar_coef.T
    tensors |= {CHANNEL + name: coef.T for name, coef in model.channel_coefs.items()}
    if model.profile is not None:
        tensors |= model.profile.to_tensors()
    return content, tensors


def deserialize_model(content: dict[str, Any], tensors: dict[str, Array]) -> FittedModel:
    """Read a model's JSON values and arrays; an inconsistency is a ValueError or TypeError."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StabilityWarning)  # issued when the model was fitted
        parameters = deserialize_parameters(content["parameters"])
        scheme = scheme_from_record(content["scheme"])
    classes, num_features = deserialize_classes(content), content["num_features"]
    Theta, bias = tensors["Theta"], tensors["bias"]
    d, C = Theta.shape
    check_finite_floats(Theta, (d, C), "Theta")
    check_finite_floats(bias, (C,), "bias")
    similar = tensors.get("similar_Theta")
    if similar is not None:
        check_finite_floats(similar, (d, C), "similar_Theta")
    if len(classes) != C or not isinstance(num_features, int) or num_features not in (0, d):
        raise ValueError("the numbers of classes or features contradict each other")
    scaling = Scaling.from_tensors(content["feature_scaling"], tensors, num_features)
    temperature, self_loops = float(content["temperature"]), content["self_loops"]
    if not 0 < temperature < np.inf or not isinstance(self_loops, bool):
        raise ValueError("temperature must be positive and self_loops a boolean")
    names, digest = content["feature_names"], content["nodes_digest"]
    if names is not None and (len(names) != d or not all(isinstance(n, str) for n in names)):
        raise ValueError("feature names must be one string per feature")
    if not isinstance(digest, str | None):
        raise TypeError("the digest of nodes must be a string")
    accuracy, offsets = content["validation_accuracy"], content.get("class_offsets")
    members = content.get("member_weights", {"plain": 1.0})
    if offsets is not None:
        offsets = np.array(offsets, dtype=np.float64)
        check_finite_floats(offsets, (C,), "class_offsets")
    if similar is not None and num_features == 0:
        raise ValueError("a model without features has no edges between similar nodes")
    tried, score = content["search"], content.get("validation_score", accuracy)
    tried.setdefault("score", tried["accuracy"])
    tried.setdefault("standard_error", [0.0] * len(tried["accuracy"]))
    rows = zip(*(tried[key] for key in SEARCH_COLUMNS), strict=True)
    return FittedModel(
        parameters=parameters,
        classes=classes,
        setting=Setting(
            scheme,
            self_loops,
            scaling.name,
            float(content["weight_decay"]),
            float(content["learning_rate"]),
        ),
        scaling=scaling,
        coef=Theta.T,
        similar_coef=None if similar is None else similar.T,
        intercept=bias,
        converged=bool(content["converged"]),
        temperature=temperature,
        num_features=num_features,
        feature_names=names,
        nodes_digest=digest,
        validation_accuracy=None if accuracy is None else float(accuracy),
        validation_score=None if score is None else float(score),
        search=[dict(zip(SEARCH_COLUMNS, row, strict=True)) for row in rows],
        member_weights={str(name): float(weight) for name, weight in members.items()},
        class_offsets=offsets,
        final_fit_nodes=int(content.get("final_fit_nodes", 0)),
        profile=GraphProfile.from_tensors(tensors, C),
        channel_coefs=_read_channels(tensors, (d, C), num_features > 0),
        feature_encoder=read_encoder(content, names),
    )


def serialize_model_graph(graph: Graph) -> tuple[dict[str, Any], dict[str, Array]]:
    """What a file has beside a model that carries its graph: JSON values, and arrays."""
    content, tensors = serialize_graph(graph._to_arrays())
    return {"graph": content}, {GRAPH + name: array for name, array in tensors.items()}


def deserialize_model_graph(
    content: dict[str, Any], tensors: dict[str, Array], model: FittedModel
) -> Graph | None:
    """The graph that a model carries, validated as a graph file is; None if there is none."""
    if "graph" not in content:
        return None
    own = {n.removeprefix(GRAPH): T for n, T in tensors.items() if n.startswith(GRAPH)}
    graph = Graph._from_arrays(deserialize_graph(content["graph"], own))
    if graph.num_features != model.num_features:
        raise ValueError("the features of the graph are not those of the model")
    return graph


def _read_channels(
    tensors: dict[str, Array], shape: tuple[int, int], has_features: bool
) -> dict[str, Array]:
    """Weights (C, p_c) of channels by name; those of features have the given shape transposed."""
    d, C = shape
    found = {n.removeprefix(CHANNEL): T for n, T in tensors.items() if n.startswith(CHANNEL)}
    allowed = [name for name in HOPS if has_features or name in LINKS]
    if not found.keys() <= set(allowed):
        raise ValueError(f"channels must be among {allowed}, not {sorted(found)}")
    # In the order in which scores add them up.
    channels = {name: found[name] for name in allowed if name in found}
    num_nodes = None if has_features else d
    for name, Theta in channels.items():
        rows = d
        if name in LINKS:
            # All channels of links have a row for each node.
            rows = num_nodes = len(Theta) if num_nodes is None else num_nodes
        check_finite_floats(Theta, (rows, C), CHANNEL + name)
    return {name: Theta.T for name, Theta in channels.items()}


def check_finite_floats(tensor: Array, shape: tuple[int, ...], name: str) -> None:
    """Raise ValueError unless a tensor of a file has that shape and finite floats."""
    is_float = tensor.dtype in (np.float32, np.float64)
    if tensor.shape != shape or not is_float or not np.isfinite(tensor).all():
        raise ValueError(f"{name} must have shape {shape} and finite floats")


def library_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that a model depends on."""
    from importlib.metadata import version

    packages = ("heatgraph", "numpy", "scipy", "scikit-learn")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
