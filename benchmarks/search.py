"""The whole search for settings, against a search with the published algorithm."""

from __future__ import annotations

from benchmarks.diffusion import PUBLISHED, noted
from benchmarks.fit import LONG
from benchmarks.jobs import OURS, Benchmark, Figure, Job
from benchmarks.product import reddit
from benchmarks.rows import Results, Row
from heatgraph.experiments.paper.settings import AUTHORS

WORKS = {name: f"Search: {name.capitalize()}" for name in AUTHORS}
REDDIT = "Search, inductive: like Reddit"
ONE, MANY = f"{PUBLISHED}, one fit", f"{PUBLISHED}, as many fits"
AUTO = "heatgraph, all settings automatic"
# "Minutes", read strictly.
MINUTES = "<= 600"


def jobs(scale: float) -> list[Job]:
    listed = []
    for name, work in WORKS.items():
        listed += [
            Job(work, "search", OURS, name, checked=False, limit=LONG),
            Job(work, "fit", ONE, name, {"setting": name}, compared=False, checked=False),
        ]
    data = reddit(scale)
    return [
        *listed,
        Job(REDDIT, "inductive", OURS, data, {"protocol": "validated"}, limit=LONG, checked=False),
        Job(REDDIT, "inductive", AUTO, data, {"protocol": "auto"}, limit=LONG, checked=False),
        Job(REDDIT, "inductive", ONE, data, compared=False, checked=False),
    ]


def derived(results: Results) -> list[Row]:
    """What a search over as many settings would take with the published algorithm."""
    rows = []
    for work in results.works:
        ours, one = results.find(work), results.find(work, ONE)
        if ours is None or one is None or not (ours.turns and one.turns):
            continue
        count = ours.facts["settings"]
        times = [{"median": count * turn["median"]} for turn in one.turns]
        note = f"estimated: {count:,} times one fit" + f", {one.note}" * bool(one.note)
        rows.append(Row(work, MANY, one.data, note=note, turns=times, facts={"settings": count}))
    return rows


def figures(results: Results) -> list[Figure]:
    listed = [
        Figure(
            f"{name}: whole search / one published fit",
            results.ratio(work, OURS, ONE),
            "<= 0.1" if name == "pubmed" else "",
        )
        for name, work in WORKS.items()
    ]
    many = results.find(REDDIT, MANY)
    return [
        *listed,
        Figure(
            "like Reddit: seconds for T chosen, fit and predict",
            results.value(REDDIT, OURS, lambda row: row.seconds),
            MINUTES,
        ),
        Figure(
            "like Reddit: seconds with all settings automatic",
            results.value(REDDIT, AUTO, lambda row: row.seconds),
        ),
        Figure(
            noted("like Reddit: published search / heatgraph", many),
            results.ratio(REDDIT, MANY, OURS),
        ),
    ]


SEARCH = Benchmark(
    "search",
    "The whole search",
    [
        "Under the *validated* protocol: all settings chosen on validation nodes (citation "
        "graphs), or T by cross-validation among the training nodes (like Reddit, inductive), "
        "then fitted, and never a look at test nodes. A search with the published algorithm over "
        "as many settings is *estimated*: the time of one fit, as in the section before, times the "
        "number of settings. One fit stands there for comparison and does less.",
    ],
    jobs,
    figures,
    derived=derived,
)
