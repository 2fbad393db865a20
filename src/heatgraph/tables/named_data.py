"""A data set that was not read from tables, with the options of a command that apply to it."""

from __future__ import annotations

from dataclasses import fields, replace

from heatgraph.datasets.dataset import Dataset
from heatgraph.errors import InputError
from heatgraph.graph import Graph
from heatgraph.tables.columns import format_names
from heatgraph.tables.from_tables import ReadResult
from heatgraph.tables.options import TableOptions

# Options that apply to any graph; of labels, splits and features, "" means none here too.
_GENERAL = ("memory_budget", "model_features", "model_encoder")
_MAY_BE_NONE = ("label", "split", "features")


def dataset_result(data: Dataset, options: TableOptions) -> ReadResult:
    """A data set as if it had been read from tables; options about columns are refused."""
    _refuse_table_options(data, options)
    graph = data.graph
    origin = "" if graph.features is None else f"of {data.name}"
    notes = [data.notes] if data.notes else []
    if options.features == "":
        graph, origin = graph.with_features(None), ""
    elif options.model_features is not None:
        graph = _select_features(graph, options.model_features, data.name)
    if options.label == "":
        data = replace(data, labels=None, splits={})
    elif options.split == "":
        data = replace(data, splits={})
    if len(data.splits) > 1:
        notes.append(f"split {next(iter(data.splits))!r}, the first of {len(data.splits)}, is used")
    return ReadResult(replace(data, graph=graph), {}, origin, None, notes=notes)


def _refuse_table_options(data: Dataset, options: TableOptions) -> None:
    for option in fields(options):
        value = getattr(options, option.name)
        is_none = option.name in _MAY_BE_NONE and value == ""
        # A data set has its directions or has none; a model that reads them asks to keep them.
        is_kept = (option.name, value) == ("directed", "keep")
        is_task = option.name == "task" and value in ("auto", data.task)
        if option.name == "task" and not is_task:
            raise InputError(
                f"the task {value} needs other labels than those of {data.name}, which is a data "
                f"set for {data.task}. Give tables."
            )
        is_allowed = is_none or is_kept or is_task or option.name in _GENERAL
        if value != option.default and not is_allowed:
            flag = "--" + option.name.replace("_", "-")
            raise InputError(
                f"{flag} is about tables, and {data.name} is not read from tables. Leave it out."
            )


def _select_features(graph: Graph, model_features: list[str], name: str) -> Graph:
    """The features of a model in its order, by name."""
    names = graph.feature_names or [f"f{at}" for at in range(graph.num_features)]
    if names == model_features:
        return graph
    position = {feature: at for at, feature in enumerate(names)}
    missing = [feature for feature in model_features if feature not in position]
    if missing:
        raise InputError(
            f"{name} lacks features that the model was fitted with: {format_names(missing, 4)}."
        )
    chosen = [position[feature] for feature in model_features]
    return graph._with_features(graph.features[:, chosen], model_features)
