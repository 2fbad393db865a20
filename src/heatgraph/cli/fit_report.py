"""Print what `fit` and `tune` found: the settings, and how well they predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from heatgraph.cli.metrics_report import metric_rows, print_classes
from heatgraph.cli.reporter import Reporter

if TYPE_CHECKING:
    from heatgraph.report.fit_result import Finding, FitResult

# Models that the weights and scores of an extended model are the mean of.
MEMBER_TITLES = {"plain": "DGC", "similar": "similar edges", "student": "self-training"}
PART_TITLES = {
    "test": "{:,} test nodes",
    "validation": "{:,} validation nodes",
    "out-of-fold": "{:,} labelled nodes, each by a model that has not learned from it",
}
# What settings are chosen by: its name, and how it is written.
SCORES = {
    "accuracy": ("accuracy", "{:.1%}"),
    "balanced_accuracy": ("balanced accuracy", "{:.1%}"),
    "f1_macro": ("macro-F1", "{:.1%}"),
    "roc_auc": ("ROC AUC", "{:.3f}"),
    "log_loss": ("log-loss", "{:.3f}"),
}
# Colours of good news and of bad.
GOOD, BAD = "green", "yellow"


def print_neighbours(reporter: Reporter, neighbours: dict[str, Any], searched: bool) -> None:
    """Tell if neighbours differ or tell nothing and, if settings are searched, what is done."""
    if neighbours["relation"] in ("differ", "independent"):
        told = [neighbours["finding"], neighbours["consequence"]]
        reporter.print(" ".join(told if searched else told[:1]))


def print_settings(reporter: Reporter, chosen: dict[str, Any]) -> None:
    """Print the settings in use, and what they were chosen by."""
    title = f"Fitted {chosen['training_nodes']:,} labelled nodes in {chosen['seconds']:.1f} s"
    rows = [("T", f"{chosen['T']:.3g}" if chosen["T"] is not None else chosen["scheme"])]
    if chosen["K"] is not None:
        rows.append(("K", str(chosen["K"])))
    rows.append(("weight decay", f"{chosen['weight_decay']:.3g}"))
    if chosen["feature_scaling"]:
        rows.append(("feature scaling", chosen["feature_scaling"]))
    if chosen["settings_tried"]:
        rows.append(("chosen by", _choice(chosen)))
    reporter.table(rows + _addition_rows(chosen), title)
    for hint in chosen["hints"]:
        reporter.print(hint)


def print_result(reporter: Reporter, result: FitResult | None) -> None:
    """Print what the result means, metrics beside those of simpler models, and the classes."""
    if result is None:
        reporter.print(
            "How well it predicts is unknown: no class has two labelled nodes, one to learn from "
            "and one to predict.",
            BAD,
        )
        return
    reporter.print(f"Result on {PART_TITLES[result.part].format(result.metrics.nodes)}", "bold")
    for finding in sorted(result.findings, key=lambda one: not one.is_warning):
        reporter.print(f"  {finding.text}", finding_style(finding))
    reporter.table(_comparison_rows(result), numbers=True)
    shown = ("accuracy", "ROC AUC", "average precision", "log-loss", "calibration error")
    rows = [row for row in metric_rows(result.metrics) if row[0] in shown]
    reporter.table(rows, "With the graph")
    print_classes(reporter, result.metrics)


def finding_style(finding: Finding) -> str | None:
    """The colour of a finding on a terminal."""
    if finding.is_warning:
        return BAD
    return GOOD if finding.kind == "graph helps" else None


def _choice(chosen: dict[str, Any]) -> str:
    """What settings were chosen by."""
    tried, by = chosen["settings_tried"], chosen["validated_by"]
    if by is None or chosen["validation_score"] is None:
        return f"the middle of {tried:,} settings: no class has a node to hold out"
    on = f"by {by}" if by == "cross-validation" else f"on {by}"
    before = " and ".join(chosen["validated_before"])
    before = before and f", before {before} learned from the labels of these nodes"
    name, form = SCORES[chosen["scoring"]]
    # A score is better if it is larger, so it is minus the log-loss.
    score = chosen["validation_score"] * (-1 if chosen["scoring"] == "log_loss" else 1)
    return f"{name} {on}: {form.format(score)}, of {tried:,} settings{before}"


def _comparison_rows(result: FitResult) -> list[tuple[str, ...]]:
    """Accuracy, balanced accuracy and macro-F1 of the model and of simpler ones."""
    rows: list[tuple[str, ...]] = [("", "accuracy", "balanced accuracy", "macro-F1")]
    models = {
        "with the graph": result.metrics,
        "features alone": result.features_alone,
        "labels alone": result.labels_alone,
    }
    for name, metrics in models.items():
        if metrics is not None:
            values = (metrics.accuracy, metrics.balanced_accuracy, metrics.macro_f1)
            rows.append((name, *(f"{value:.1%}" for value in values)))
    return [*rows, ("largest class", f"{result.largest_class:.1%}", "", "")]


def _addition_rows(chosen: dict[str, Any]) -> list[tuple[str, str]]:
    """What was added to DGC, and which nodes the last fit learned from, if not training nodes."""
    rows = []
    weights, offsets = chosen["member_weights"], chosen["class_offsets"]
    if len(weights) > 1:
        parts = [f"{MEMBER_TITLES[name]} {weight:.0%}" for name, weight in weights.items()]
        rows.append(("mean of", ", ".join(parts)))
    if "channels" in chosen["extensions"]:
        rows.append(("channels", ", ".join(chosen["channels"])))
    if offsets is not None:
        source = f"learned like the temperature from the labels of {chosen['class_offsets_from']}"
        rows.append(("class offsets", f"{len(offsets)} numbers, {source}"))
    if chosen["final_fit_nodes"] > chosen["training_nodes"]:
        learned = f"{chosen['final_fit_nodes']:,} labelled nodes, including validation nodes"
        rows.append(("final fit", learned))
    return rows
