"""Options that several commands share."""

from __future__ import annotations

import math
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from heatgraph.classifier import DGCClassifier
    from heatgraph.tables.graphs import Options, Reading


class Direction(str, Enum):
    """What to make of two directions that differ."""

    max = "max"
    sum = "sum"
    refuse = "refuse"


class Duplicates(str, Enum):
    """What to make of an edge with several weights."""

    error = "error"
    sum = "sum"
    max = "max"


class Schemes(str, Enum):
    """Ways to integrate the heat equation."""

    heat = "heat"
    euler = "euler"
    rk4 = "rk4"


class Scalings(str, Enum):
    """What is done to features before they diffuse."""

    auto = "auto"
    none = "none"
    rows = "rows"
    sqrt = "sqrt"
    idf = "idf"
    idf_sqrt = "idf-sqrt"
    standard = "standard"


_TABLES = "Columns (guessed by name if not given; '' for none)"
_MACHINE = "Machine and output"

Nodes = Annotated[
    Path, typer.Argument(metavar="NODES", help="Table of nodes: CSV, TSV (also .gz) or Parquet.")
]
Edges = Annotated[Path, typer.Argument(metavar="EDGES", help="Table of edges, likewise.")]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `heatgraph fit` wrote.")]

Id = Annotated[
    str | None, typer.Option("--id", help="Column of node ids.", rich_help_panel=_TABLES)
]
Label = Annotated[
    str | None,
    typer.Option("--label", help="Column of labels, blank where unknown.", rich_help_panel=_TABLES),
]
SplitColumn = Annotated[
    str | None,
    typer.Option(
        "--split",
        help="Column that says train, val or test; blank for neither.",
        rich_help_panel=_TABLES,
    ),
]
Features = Annotated[
    str | None,
    typer.Option(
        "--features",
        help="Columns of features, names or patterns ('f*') with commas between; a column of "
        "lists; or a table of node, feature, value. By default every column of numbers.",
        rich_help_panel=_TABLES,
    ),
]
SourceColumn = Annotated[
    str | None,
    typer.Option("--source", help="Column of ids where edges begin.", rich_help_panel=_TABLES),
]
TargetColumn = Annotated[
    str | None,
    typer.Option("--target", help="Column of ids where edges end.", rich_help_panel=_TABLES),
]
Weight = Annotated[
    str | None,
    typer.Option("--weight", help="Column of edge weights.", rich_help_panel=_TABLES),
]
Directed = Annotated[
    Direction,
    typer.Option(
        "--directed",
        help="Edges are read as undirected. Where the two directions differ, take the larger "
        "weight, their sum, or refuse.",
        rich_help_panel=_TABLES,
    ),
]
DuplicateEdges = Annotated[
    Duplicates,
    typer.Option(
        "--duplicates",
        help="What to make of an edge that is listed several times with different weights.",
        rich_help_panel=_TABLES,
    ),
]
T = Annotated[
    str | None,
    typer.Option("--T", help="Diffusion time, or candidates with commas between; else chosen."),
]
K = Annotated[
    int | None,
    typer.Option(
        "--K",
        min=0,
        metavar="<int>",
        help="Number of steps; else the heat kernel itself, without steps.",
    ),
]
Scheme = Annotated[
    Schemes | None,
    typer.Option(
        "--scheme",
        metavar="<name>",
        help="heat, euler or rk4; by default euler if K is given, else heat.",
    ),
]
SelfLoops = Annotated[
    bool, typer.Option("--self-loops/--no-self-loops", help="Diffuse with A + I, or with A.")
]
Scaling = Annotated[
    Scalings,
    typer.Option(
        "--feature-scaling",
        metavar="<name>",
        help="Before features diffuse: auto, none, rows, sqrt, idf, idf-sqrt or standard.",
    ),
]
WeightDecay = Annotated[
    str | None,
    typer.Option(
        "--weight-decay", help="L2 penalty, or candidates with commas between; else chosen."
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        min=0,
        max=2**32 - 1,
        help="Seed of all that is random.",
        rich_help_panel=_MACHINE,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads", min=1, help="How many; by default one per core.", rich_help_panel=_MACHINE
    ),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="Budget, such as 4GB; by default all.", rich_help_panel=_MACHINE),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Report as JSON, with nothing else beside it.", rich_help_panel=_MACHINE
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Report nothing but errors.", rich_help_panel=_MACHINE)
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Exit with 3 if the model did not converge.", rich_help_panel=_MACHINE
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Show where an error comes from.", rich_help_panel=_MACHINE),
]


def table_options(values: dict[str, Any], known_features: list[str] | None = None) -> Options:
    """How to read tables, from the values of a command's options."""
    from heatgraph.errors import InputError
    from heatgraph.schedule import memory_bytes
    from heatgraph.tables.graphs import Options
    from heatgraph.tables.source import is_table_name

    try:
        memory_bytes(values["memory"])
    except InputError:
        raise typer.BadParameter(
            f"--memory must be a size such as 4GB or 500MB. Got {values['memory']!r}."
        ) from None
    features = values["features"]
    if features and "," in features and not is_table_name(features):
        features = [name.strip() for name in features.split(",")]
    return Options(
        id=values["id"],
        label=values.get("label"),
        split=values.get("split"),
        features=features,
        source=values["source"],
        target=values["target"],
        weight=values["weight"],
        directed=values["directed"].value,
        duplicates=values["duplicates"].value,
        memory=values["memory"],
        known_features=known_features,
    )


def model_options(values: dict[str, Any], classifier: DGCClassifier) -> Options:
    """How to read tables for a model: with its features, and leaving labels aside."""
    known = getattr(classifier, "feature_names_in_", None)
    none = {} if classifier.n_features_in_ else {"features": ""}
    return table_options(values | {"label": "", "split": ""} | none, known)


def numbers(text: str | None, name: str) -> Any:
    """A number, several with commas between, or "auto" for None."""
    if text is None or text == "auto":
        return "auto"
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [math.nan]
    if not all(0 <= value < math.inf for value in values):
        raise typer.BadParameter(
            f"{name} must be a number >= 0, or several with commas between. Got {text!r}."
        )
    return values[0] if len(values) == 1 else values


def check_numbers(values: dict[str, Any]) -> None:
    """Refuse what is not a number, or cannot be together, before any work is done."""
    if values["K"] is not None and values["scheme"] is Schemes.heat:
        raise typer.BadParameter("--scheme heat takes no --K: it is the limit of many steps.")
    if values["K"] is None and values["scheme"] not in (None, Schemes.heat):
        raise typer.BadParameter(f"--scheme {values['scheme'].value} needs a number of steps, --K.")
    numbers(values["T"], "--T")
    numbers(values["weight_decay"], "--weight-decay")


def need_labels(reading: Reading) -> None:
    """Refuse tables without labels, where they are needed."""
    from heatgraph.errors import InputError

    if reading.data.labels is None:
        raise InputError(
            f"labels are needed to learn from, and no column of {reading.data.name} was found or "
            "named for them. Name it with --label."
        )
