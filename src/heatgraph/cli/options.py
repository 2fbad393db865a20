"""Options that several commands share, in groups.

A command takes a group as one parameter, annotated with the group's class. `expand_groups` shows
typer the single options, and builds the group from their values.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_type_hints

import typer

from heatgraph.tables.options import (
    Decimal,
    Directed,
    Duplicates,
    Missing,
    TableOptions,
    UnknownEdges,
    model_options,
)

if TYPE_CHECKING:
    from heatgraph.learning._diffusion_model import DiffusionModel


def check_scheme(name: str | None) -> str | None:
    """Refuse a scheme that is not registered.

    Not an Enum, since listing the schemes imports NumPy, which --help does not wait for.
    """
    if name is None:
        return None
    from heatgraph.schemes import SCHEMES

    return _check_choice(name, tuple(SCHEMES))


def check_steps(scheme: str | None, K: int | None) -> None:
    """Refuse steps for a scheme without any, and a scheme of steps without their number."""
    if scheme is None:
        return
    from heatgraph.schemes import SCHEMES

    if K is not None and not SCHEMES[scheme].takes_K:
        raise typer.BadParameter(f"--scheme {scheme} takes no --K: it has no steps.")
    if K is None and SCHEMES[scheme].takes_K:
        raise typer.BadParameter(f"--scheme {scheme} needs a number of steps, --K.")


_COLUMNS = "Columns (found by name if not given; '' for none)"
MACHINE = "Machine and output"
SCORES = ("accuracy", "balanced_accuracy", "f1_macro", "log_loss", "roc_auc")
SETTINGS = "Settings (chosen on held-out nodes if not given)"


def _column_option(flag: str, help: str, **more: Any) -> Any:
    return typer.Option(flag, help=help, **{"metavar": "NAME", "rich_help_panel": _COLUMNS} | more)


def choice(choices: tuple[str, ...]) -> dict[str, Any]:
    """Arguments of an option that takes one of `choices`."""

    def parse(value: str) -> str:
        return _check_choice(value, choices)

    return {"parser": parse, "metavar": "|".join(choices)}


def _check_choice(value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        from heatgraph.tables.columns import did_you_mean

        raise typer.BadParameter(
            f"{value!r} is not one of {', '.join(map(repr, choices))}."
            f"{did_you_mean(value, choices)}"
        )
    return value


def _parse_scaling(value: str) -> str:
    if value == "auto":
        return value
    from heatgraph.learning.scaling import SCALINGS

    return _check_choice(value, ("auto", *SCALINGS))


def _parse_memory(value: str) -> str:
    from heatgraph._io.memory import memory_budget_bytes
    from heatgraph.errors import InputError

    try:
        memory_budget_bytes(value)
    except InputError:
        raise typer.BadParameter(f"must be a size such as 4GB or 500MB. Got {value!r}.") from None
    return value


def steps_option(panel: str) -> Any:
    """The option --K, in a group of the help."""
    return typer.Option(
        "--K",
        min=0,
        metavar="N",
        help="Number of steps; by default infinitely many, the heat kernel.",
        rich_help_panel=panel,
    )


def scheme_option(panel: str) -> Any:
    """The option --scheme, in a group of the help."""
    return typer.Option(
        "--scheme",
        metavar="NAME",
        callback=check_scheme,
        help="Integrator: heat, euler (the default with --K) or rk4.",
        rich_help_panel=panel,
    )


def self_loops_option(panel: str) -> Any:
    """The option --self-loops, in a group of the help."""
    return typer.Option(
        "--self-loops/--no-self-loops",
        help="Add an edge from every node to itself (the default), or none.",
        rich_help_panel=panel,
    )


GraphOrNodes = Annotated[
    str,
    typer.Argument(
        metavar="GRAPH|NODES",
        help="A data set by name (see `heatgraph datasets`), a folder or file that holds a graph, "
        "or a table of nodes.",
    ),
]
Edges = Annotated[
    Path | None, typer.Argument(metavar="EDGES", help="Table of edges, if NODES is a table.")
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model that `heatgraph fit` wrote.")]

ExplainTop = Annotated[
    int | None,
    typer.Option(
        "--explain-top",
        min=1,
        metavar="N",
        help="Add the N strongest features and nodes of each prediction to the table.",
    ),
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="In CSV, put an apostrophe before texts that a spreadsheet would run as formulas.",
    ),
]
RescaleFeatures = Annotated[
    bool,
    typer.Option(
        "--rescale-features",
        help="Standardise features by the means and deviations of this graph, not by those of the "
        "graph that the model was fitted to.",
    ),
]
T = Annotated[
    str | None,
    typer.Option(
        "--T",
        metavar="X",
        help="Diffusion time, or candidates: 1,2,4.",
        rich_help_panel=SETTINGS,
    ),
]
K = Annotated[int | None, steps_option(SETTINGS)]
Scheme = Annotated[str | None, scheme_option(SETTINGS)]
SelfLoops = Annotated[bool, self_loops_option(SETTINGS)]
Scaling = Annotated[
    str,
    typer.Option(
        "--feature-scaling",
        metavar="NAME",
        help="none, rows, sqrt, idf, idf-sqrt, standard, or auto.",
        parser=_parse_scaling,
        rich_help_panel=SETTINGS,
    ),
]
WeightDecay = Annotated[
    str | None,
    typer.Option(
        "--weight-decay",
        metavar="X",
        help="L2 penalty, or candidates: 1e-4,1e-3.",
        rich_help_panel=SETTINGS,
    ),
]
Extensions = Annotated[
    str,
    typer.Option(
        "--extensions",
        metavar="NAMES",
        help="Added to DGC where it helps: auto, none, or some of similar-edges,self-training,"
        "class-offsets,channels.",
        rich_help_panel=SETTINGS,
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        "--class-weight",
        help="balanced: every class counts as much, however few labelled nodes it has.",
        rich_help_panel=SETTINGS,
        **choice(("balanced",)),
    ),
]
Scoring = Annotated[
    str,
    typer.Option(
        "--scoring",
        help="What settings are chosen by: accuracy, balanced_accuracy, f1_macro, log_loss or "
        "roc_auc.",
        rich_help_panel=SETTINGS,
        **choice(SCORES) | {"metavar": "NAME"},
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        "--task",
        help="What to predict: one class per node, several labels, or a number; by default what "
        "the values of the column suggest.",
        **choice(("classification", "multilabel", "regression")),
    ),
]
Seed = Annotated[
    int,
    typer.Option(
        "--seed",
        min=0,
        max=2**32 - 1,
        help="Random seed.",
        rich_help_panel=MACHINE,
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        "--threads",
        min=1,
        help="Number of threads; by default one per core.",
        rich_help_panel=MACHINE,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        "--memory-budget",
        metavar="SIZE",
        help="Memory budget, such as 4GB; by default all memory.",
        parser=_parse_memory,
        rich_help_panel=MACHINE,
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS|local:N",
        help="Diffuse on a Dask cluster: the address of its scheduler, or N processes of this "
        "machine. --memory is then that of a worker.",
        rich_help_panel=MACHINE,
    ),
]
ClusterMode = Annotated[
    Any,
    typer.Option(
        "--cluster-mode",
        help="Workers diffuse panels of columns, or blocks of rows of graphs that none can hold.",
        rich_help_panel=MACHINE,
        **choice(("auto", "columns", "blocks")),
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print the report as JSON, and nothing else.", rich_help_panel=MACHINE
    ),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print errors only.", rich_help_panel=MACHINE)
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        help="Folder with planetoid/, reddit/, geom-gcn/, musae/; by default $HEATGRAPH_DATA.",
    ),
]
Again = Annotated[
    bool, typer.Option("--again", help="Ignore stored results and run everything again.")
]
Strict = Annotated[
    bool,
    typer.Option(
        "--strict", help="Exit with 3 if the model did not converge.", rich_help_panel=MACHINE
    ),
]
Debug = Annotated[
    bool,
    typer.Option("--debug", help="Print the traceback of an error.", rich_help_panel=MACHINE),
]


@dataclass(frozen=True)
class ColumnOptions:
    """How to read the two tables, except for labels: `TableOptions` by the same names."""

    id: Annotated[str | None, _column_option("--id", "Column of node ids.")] = None
    features: Annotated[
        str | None,
        _column_option(
            "--features",
            "Columns, with commas between names or patterns ('f*'), and perhaps a table of node, "
            "feature, value; or a matrix (.npz, .npy, .mtx, .svm). By default every column but "
            "ids, constants and the like.",
            metavar="NAMES",
        ),
    ] = None
    source: Annotated[
        str | None, _column_option("--source", "Column of ids where edges begin.")
    ] = None
    target: Annotated[str | None, _column_option("--target", "Column of ids where edges end.")] = (
        None
    )
    weight: Annotated[str | None, _column_option("--weight", "Column of edge weights.")] = None
    directed: Annotated[
        str,
        _column_option(
            "--directed",
            "Where the two directions of an edge differ, take the larger weight, their sum, the "
            "larger but keep directions to learn from, or "
            "refuse.",
            **choice(get_args(Directed)),
        ),
    ] = "max"
    duplicates: Annotated[
        str,
        _column_option(
            "--duplicates",
            "How to merge rows of the same edge that differ in weight.",
            **choice(get_args(Duplicates)),
        ),
    ] = "error"
    unknown_edges: Annotated[
        str,
        _column_option(
            "--unknown-edges",
            "Edges with ids that NODES lacks: stop, drop them, or add nodes without labels and "
            "features.",
            **choice(get_args(UnknownEdges)),
        ),
    ] = "error"
    missing: Annotated[
        str,
        _column_option(
            "--missing",
            "Missing numbers and dates: the training nodes' mean and a feature that marks them, "
            "the mean alone, or an error.",
            **choice(get_args(Missing)),
        ),
    ] = "indicator"
    decimal: Annotated[
        str | None,
        _column_option(
            "--decimal",
            "The mark before the fraction of a number; the other one may then separate thousands.",
            **choice(get_args(Decimal)),
        ),
    ] = None

    @property
    def feature_parts(self) -> list[str]:
        """Columns, patterns and files that features are read from."""
        given = self.features or ""
        return [given] if Path(given).exists() else [part.strip() for part in given.split(",")]

    def table_options(self, memory: str | None, **more: Any) -> TableOptions:
        """Options of the reader; `more` are those that are not in this group."""
        given = vars(self) | {"memory_budget": memory} | more
        if given["features"] and len(self.feature_parts) > 1:
            given["features"] = self.feature_parts
        if given.get("unlabelled"):
            given["unlabelled"] = given["unlabelled"].split(",")
        return TableOptions(**given)

    def table_options_for(
        self,
        model: DiffusionModel,
        memory: str | None,
        label: str | None = "",
        split: str | None = "",
        task: str = "classification",
        **more: Any,
    ) -> TableOptions:
        """Options to read the features of a fitted model, and by default no labels."""
        more |= model_options(model, self.directed)
        return self.table_options(memory, label=label, split=split, task=task, **more)


@dataclass(frozen=True)
class LabelOptions:
    """Columns of labels and splits: `TableOptions` by the same names."""

    label: Annotated[
        str | None, _column_option("--label", "Column of labels, blank where unknown.")
    ] = None
    split: Annotated[
        str | None, _column_option("--split", "Column with train, val or test; blank for none.")
    ] = None
    unlabelled: Annotated[
        str,
        _column_option(
            "--unlabelled",
            "Labels that mean no label, comma-separated, such as 'unknown,?'.",
            metavar="TEXTS",
        ),
    ] = ""


@dataclass(frozen=True)
class ModelOptions:
    """Parameters of the classifier: one value fixes a parameter, candidates or none search it."""

    T: T = None
    K: K = None
    scheme: Scheme = None
    self_loops: SelfLoops = True
    feature_scaling: Scaling = "auto"
    weight_decay: WeightDecay = None
    extensions: Extensions = "auto"
    class_weight: ClassWeight = None
    scoring: Scoring = "accuracy"
    seed: Seed = 0

    def parameters(self) -> dict[str, Any]:
        """Parameters of the classifier; options that contradict each other are refused."""
        check_steps(self.scheme, self.K)
        return {
            "T": parse_candidates(self.T, "--T"),
            "K": self.K,
            "scheme": self.scheme,
            "self_loops": self.self_loops,
            "feature_scaling": self.feature_scaling,
            "weight_decay": parse_candidates(self.weight_decay, "--weight-decay"),
            "extensions": parse_extensions(self.extensions),
            "class_weight": self.class_weight,
            "scoring": self.scoring,
            "random_state": self.seed,
        }


@dataclass(frozen=True)
class SearchOptions(ModelOptions):
    """The same for a search over T, which is of plain DGC unless extensions are given."""

    extensions: Extensions = "none"


@dataclass(frozen=True)
class ResourceOptions:
    """Threads and memory that a command may use."""

    threads: Threads = None
    memory: Memory = None

    def parameters(self) -> dict[str, Any]:
        """The same as parameters of the classifier."""
        return {"n_threads": self.threads, "memory_budget": self.memory}


@dataclass(frozen=True)
class OutputOptions:
    """How a command reports."""

    as_json: Json = False
    quiet: Quiet = False
    debug: Debug = False


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Replace the option groups in a command's signature by their options, for typer to see."""
    parameters = inspect.signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in parameters.items()
        if is_dataclass(parameter.annotation)
    }
    keyword = inspect.Parameter.KEYWORD_ONLY
    expanded: list[inspect.Parameter] = []
    for parameter in parameters.values():
        if parameter.name not in groups:
            expanded.append(parameter.replace(kind=keyword))
            continue
        group = groups[parameter.name]
        hints = get_type_hints(group, include_extras=True)
        expanded += [
            inspect.Parameter(
                field.name, keyword, default=field.default, annotation=hints[field.name]
            )
            for field in fields(group)
        ]

    @functools.wraps(command)
    def wrapper(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    vars(wrapper)["__signature__"] = inspect.Signature(expanded)
    wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in expanded}
    return wrapper


def parse_candidates(text: str | None, flag: str) -> Any:
    """A number, a list of comma-separated numbers, or "auto" for None."""
    if text is None or text == "auto":
        return "auto"
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        values = [math.nan]
    if not all(0 <= value < math.inf for value in values):
        raise typer.BadParameter(
            f"{flag} must be a number >= 0, or several, comma-separated. Got {text!r}."
        )
    return values[0] if len(values) == 1 else values


def parse_extensions(text: str) -> str | list[str] | None:
    """The classifier's extensions: "auto", None for "none", or a list of names."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    from heatgraph.learning._extensions import EXTENSIONS
    from heatgraph.tables.columns import did_you_mean

    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in EXTENSIONS:
            raise typer.BadParameter(
                f"--extensions must be auto, none, or some of {', '.join(EXTENSIONS)}, "
                f"comma-separated. Got {name!r}.{did_you_mean(name, EXTENSIONS)}"
            )
    return names
