"""Section of a fit's report on its settings: what was chosen, and what the search found."""

from __future__ import annotations

from typing import Any

from heatgraph._io.formatting import format_seconds
from heatgraph.report.document import Chart, Panel, Part, Section, Series, Span, Table, literal
from heatgraph.report.search_curves import (
    Point,
    Record,
    best_by_scaling,
    best_over_time,
    best_over_weight_decay,
    plateau,
)

# Fields of records by which settings are chosen: names of axes, and the sign and the factor by
# which scores are shown.
SCORES = {
    "accuracy": ("accuracy (%)", 100.0),
    "balanced_accuracy": ("balanced accuracy (%)", 100.0),
    "f1_macro": ("macro-F1 (%)", 100.0),
    "roc_auc": ("ROC AUC", 1.0),
    "log_loss": ("log-loss", -1.0),
    "r2": ("R²", 1.0),
}


def search_section(model: Any, validated_by: str | None, seconds: float | None) -> Section:
    """The settings in use, and scores over T, weight decay and scaling if these were searched."""
    parts: list[Part] = [_settings_table(model, seconds)]
    search = scored(model)
    if not search:
        parts.append("All settings were given, so there was no search.")
        return Section("search", "Settings and search", parts)
    name, factor = score_axis(model)
    by = f" on {literal(validated_by)}" if validated_by else ""
    parts.append(f"{len(search):,} settings were compared by {name.removesuffix(' (%)')}{by}.")
    panels, notes = [], []
    over_time = best_over_time(search)
    if len(over_time) > 1:
        panel, told = _time_panel(model, over_time, name, factor)
        panels.append(panel)
        notes.append(told)
    over_decay = best_over_weight_decay(search, "score", model.T_)
    if len(over_decay) > 1:
        x = [record["weight_decay"] for record in over_decay]
        lines = [_series("at the nearest T", x, over_decay, factor, colour=2)]
        spans = [Span(f"chosen: {model.weight_decay_:.2g}", *[model.weight_decay_] * 2)]
        panels.append(Panel("Over weight decay", lines, "weight decay", name, "x", spans))
        notes.append(
            "Weight decay is chosen for as many nodes as the search holds; the last fit, to more "
            "nodes, has it rescaled."
        )
    if panels:
        caption = f"Scores on held-out nodes, with bands of one standard error. {' '.join(notes)}"
        parts.append(Chart("search", caption, panels, 2))
    scalings = best_by_scaling(search, "score")
    if len(scalings) > 1:
        parts.append(_scaling_table(scalings, name, factor))
    return Section("search", "Settings and search", parts)


def scored(model: Any) -> list[Record]:
    """Records of a model's search with a "score", larger being better, and its error."""
    sign = -1.0 if _score_name(model) == "log_loss" else 1.0
    return [
        {
            "score": sign * record.get("r2", record.get("log_loss", 0.0)),
            "standard_error": 0.0,
            **record,
        }
        for record in model.search_
    ]


def time_points(model: Any) -> list[Point]:
    """The best score at each T of a search, as `scored`."""
    return [
        Point(record["T"], record["score"], record["standard_error"])
        for record in best_over_time(scored(model))
    ]


def score_axis(model: Any) -> tuple[str, float]:
    """The name of the score that settings are chosen by, and the factor by which it is shown."""
    return SCORES[_score_name(model)]


def _score_name(model: Any) -> str:
    """The key of SCORES that settings were chosen by."""
    if hasattr(model, "scoring"):
        return str(model.scoring)
    return "log_loss" if hasattr(model, "classes_") else "r2"


def _settings_table(model: Any, seconds: float | None) -> Table:
    rows = [["T", f"{model.T_:.3g}" if model.T_ is not None else repr(model.scheme_)]]
    if model.K_ is not None:
        rows.append(["K", str(model.K_)])
    rows.append(["weight decay", f"{model.weight_decay_:.3g}"])
    if model.n_features_in_:
        rows.append(["feature scaling", model.feature_scaling_])
    rows.append(["self-loops added", "yes" if model.self_loops_ else "no"])
    if hasattr(model, "temperature_"):
        rows.append(["temperature", f"{model.temperature_:.3g}"])
    members = getattr(model, "member_weights_", {})
    if len(members) > 1:
        rows.append(["mean of models", ", ".join(f"{k} {w:.0%}" for k, w in members.items())])
    if getattr(model, "channel_coefs_", {}):
        rows.append(["channels", ", ".join(model.channel_coefs_)])
    if getattr(model, "class_offsets_", None) is not None:
        rows.append(["class offsets", "yes"])
    if hasattr(model, "final_fit_nodes_"):
        rows.append(["nodes of the last fit", f"{model.final_fit_nodes_:,}"])
    rows.append(["converged", "yes" if model.converged_ else "no"])
    if seconds is not None:
        rows.append(["time", format_seconds(seconds)])
    return Table("Settings", ["setting", "value"], rows, 2, sortable=False)


def _time_panel(model: Any, records: list[Record], name: str, factor: float) -> tuple[Panel, str]:
    points = [Point(one["T"], one["score"], one["standard_error"]) for one in records]
    lines = [_series("best at each T", [point.x for point in points], records, factor)]
    if records[0]["T"] == 0:
        alone = factor * records[0]["score"]
        ends = [points[0].x, points[-1].x]
        lines.append(Series("T = 0, no diffusion", ends, [alone] * 2, dashed=True, colour=6))
    spans, told = [], ""
    found = None if model.T_ is None else plateau(points, model.T_)
    if found is not None:
        spans.append(Span(f"plateau: {found[0]:.2g} to {found[1]:.2g}", *found))
        told = "The plateau is where scores are within a standard error of the best."
    if model.T_ is not None:
        spans.append(Span(f"chosen: T = {model.T_:.3g}", model.T_, model.T_))
    if records[0].get("head") == "ridge" and hasattr(model, "classes_"):
        told += " Over T, ridge regression takes the place of the final one."
    return Panel("Over the diffusion time T", lines, "T", name, spans=spans), told


def _series(
    title: str, x: list[float], records: list[Record], factor: float, colour: int = 0
) -> Series:
    y = [factor * record["score"] for record in records]
    spread = [abs(factor) * record["standard_error"] for record in records]
    return Series(title, x, y, spread if any(spread) else None, colour=colour)


def _scaling_table(records: list[Record], name: str, factor: float) -> Table:
    rows = [
        [
            record["feature_scaling"],
            "yes" if record["self_loops"] else "no",
            f"{factor * record['score']:.3g}",
            f"{record['T']:.3g}" if record["T"] is not None else "",
            f"{record['weight_decay']:.2g}",
        ]
        for record in records
    ]
    head = ["feature scaling", "self-loops", f"best {name}", "at T", "weight decay"]
    return Table("Scalings, where all of them were tried", head, rows, 2)
