"""Options that several commands share, in groups.

A command takes a group as one parameter, annotated with the group's class; `grouped` spreads it
into the options that typer sees, and puts together what comes back.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from heatgraph.learning.classifier import DGCClassifier
    from heatgraph.tables.graphs import Options


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


def check_scheme(name: str | None) -> str | None:
    """Refuse a scheme that is not registered.

    Not an Enum, since listing the schemes imports NumPy, which --help does not wait for.
    """
    if name is None:
        return None
    from heatgraph.schemes import SCHEMES

    if name not in SCHEMES:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, SCHEMES))}.")
    return name


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
    str | None,
    typer.Option(
        "--scheme",
        metavar="<name>",
        callback=check_scheme,
        help="Integrator, such as heat, euler or rk4 (an unknown name lists all); by default euler "
        "if K is given, else heat.",
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
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Folder with planetoid/ and reddit/; by default $HEATGRAPH_DATA."),
]
Again = Annotated[bool, typer.Option("--again", help="Run also what the folder has results of.")]
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


@dataclass(frozen=True)
class Tables:
    """How to read the two tables, but for labels."""

    id: Id = None
    features: Features = None
    source: SourceColumn = None
    target: TargetColumn = None
    weight: Weight = None
    directed: Directed = Direction.max
    duplicates: DuplicateEdges = Duplicates.error

    def reading(self, memory: str | None, **more: Any) -> Options:
        """The options of a reader; `more` are those that are not here."""
        from heatgraph._io.memory import memory_budget_bytes
        from heatgraph.errors import InputError
        from heatgraph.tables.graphs import Options
        from heatgraph.tables.source import is_table_name

        try:
            memory_budget_bytes(memory)
        except InputError:
            raise typer.BadParameter(
                f"--memory must be a size such as 4GB or 500MB. Got {memory!r}."
            ) from None
        features: Any = self.features
        if features and "," in features and not is_table_name(features):
            features = [name.strip() for name in features.split(",")]
        given = {
            "id": self.id,
            "features": features,
            "source": self.source,
            "target": self.target,
            "weight": self.weight,
            "directed": self.directed.value,
            "duplicates": self.duplicates.value,
            "memory": memory,
        }
        return Options(**(given | more))

    def reading_for(self, model: DGCClassifier, memory: str | None) -> Options:
        """The same for a model: with its features, and leaving labels aside."""
        known = getattr(model, "feature_names_in_", None)
        none = {} if model.n_features_in_ else {"features": ""}
        return self.reading(memory, label="", split="", known_features=known, **none)


@dataclass(frozen=True)
class Labels:
    """Which columns say what to learn."""

    label: Label = None
    split: SplitColumn = None


@dataclass(frozen=True)
class Settings:
    """What is fixed, and what is left to be chosen."""

    T: T = None
    K: K = None
    scheme: Scheme = None
    self_loops: SelfLoops = True
    feature_scaling: Scaling = Scalings.auto
    weight_decay: WeightDecay = None
    seed: Seed = 0

    def parameters(self) -> dict[str, Any]:
        """The same as parameters of the classifier, if they can be together."""
        if self.scheme is not None:
            from heatgraph.schemes import SCHEMES

            if self.K is not None and not SCHEMES[self.scheme].takes_K:
                raise typer.BadParameter(f"--scheme {self.scheme} takes no --K: it has no steps.")
            if self.K is None and SCHEMES[self.scheme].takes_K:
                raise typer.BadParameter(f"--scheme {self.scheme} needs a number of steps, --K.")
        return {
            "T": numbers(self.T, "--T"),
            "K": self.K,
            "scheme": self.scheme,
            "self_loops": self.self_loops,
            "feature_scaling": self.feature_scaling.value,
            "weight_decay": numbers(self.weight_decay, "--weight-decay"),
            "random_state": self.seed,
        }


@dataclass(frozen=True)
class Machine:
    """What of the machine may be used."""

    threads: Threads = None
    memory: Memory = None

    def parameters(self) -> dict[str, Any]:
        """The same as parameters of the classifier."""
        return {"n_threads": self.threads, "memory_budget": self.memory}


@dataclass(frozen=True)
class Report:
    """What is said."""

    as_json: Json = False
    quiet: Quiet = False
    debug: Debug = False


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Spread a command's groups of options into single ones, for typer to see."""
    own = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in own.items()
        if is_dataclass(parameter.annotation)
    }
    spread = []
    for parameter in own.values():
        if parameter.name not in groups:
            spread.append(parameter)
            continue
        group = groups[parameter.name]
        kinds = get_type_hints(group, include_extras=True)
        spread += [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=field.default,
                annotation=kinds[field.name],
            )
            for field in fields(group)
        ]

    @functools.wraps(command)
    def whole(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.Signature([parameter.replace(kind=keyword) for parameter in spread])
    vars(whole)["__signature__"] = signature
    whole.__annotations__ = {name: p.annotation for name, p in signature.parameters.items()}
    return whole


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
