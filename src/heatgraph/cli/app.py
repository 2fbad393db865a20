"""All commands: a new one takes a module in this folder, its import here and a line below."""

from __future__ import annotations

from typing import Annotated

import typer

import heatgraph
from heatgraph.cli import (
    compare,
    datasets,
    demo,
    evaluate,
    explain,
    fit,
    info,
    paper,
    predict,
    tune,
    version,
)


def _print_version(requested: bool) -> None:
    if requested:
        print(f"heatgraph {heatgraph.__version__}")
        raise typer.Exit()


app = typer.Typer(
    name="heatgraph",
    help="Label the nodes of a graph: features diffuse like heat, a linear classifier reads them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, 1 unusable input or file, 2 wrong use, 3 not converged (--strict), "
    "70 internal error, 130 Ctrl-C, 141 closed pipe, 143 terminated.",
)


@app.callback()
def _heatgraph(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    pass


app.command("fit")(fit.fit)
app.command("predict")(predict.predict)
app.command("evaluate")(evaluate.evaluate)
app.command("tune")(tune.tune)
app.command("explain")(explain.explain)
app.command("info")(info.info)
app.command("datasets")(datasets.datasets)
app.command("demo")(demo.demo)
app.command("compare")(compare.compare)
app.command("paper")(paper.paper)
app.command("version")(version.version)
