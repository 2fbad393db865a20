"""All commands: a new one takes a module in this folder, its import here and a line below."""

from __future__ import annotations

from typing import Annotated

import typer

import heatgraph
from heatgraph.cli import (
    compare,
    convert,
    datasets,
    demo,
    diffuse,
    evaluate,
    explain,
    explore,
    fit,
    info,
    paper,
    predict,
    tune,
    version,
)
from heatgraph.cli.help_text import Command, Group


def _print_version(requested: bool) -> None:
    if requested:
        print(f"heatgraph {heatgraph.__version__}")
        raise typer.Exit()


app = typer.Typer(
    name="heatgraph",
    cls=Group,
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


app.command("fit", cls=Command)(fit.fit)
app.command("predict", cls=Command)(predict.predict)
app.command("evaluate", cls=Command)(evaluate.evaluate)
app.command("tune", cls=Command)(tune.tune)
app.command("explain", cls=Command)(explain.explain)
app.command("explore", cls=Command)(explore.explore)
app.command("diffuse", cls=Command)(diffuse.diffuse)
app.command("convert", cls=Command)(convert.convert)
app.command("info", cls=Command)(info.info)
app.command("datasets", cls=Command)(datasets.datasets)
app.command("demo", cls=Command)(demo.demo)
app.command("compare", cls=Command)(compare.compare)
app.command("paper", cls=Command)(paper.paper)
app.command("version", cls=Command)(version.version)
