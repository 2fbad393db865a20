"""The whole search for settings, against as many fits of the published algorithm."""

from __future__ import annotations

import heatgraph as hg
from benchmarks.benchmark import OURS, Benchmark, Figure, Job, Outcome, Task
from benchmarks.peers import PUBLISHED
from benchmarks.results import Results, Row
from benchmarks.suite.fit import LONG_LIMIT, fit, fit_inductive
from benchmarks.workloads import Workload, reddit
from heatgraph.experiments.paper.settings import AUTHORS

WORKS = {name: f"Search: {name.capitalize()}" for name in AUTHORS}
REDDIT = "Search, inductive: like Reddit"
ONE_FIT, MANY_FITS = f"{PUBLISHED}, one fit", f"{PUBLISHED}, as many fits"
AUTOMATIC = "heatgraph, all settings automatic"


def search(job: Job, data: Workload) -> Task:
    """Search on validation nodes, and fit the chosen setting."""
    graph, labels, split = data.graph(), data.labels, data.split

    def run() -> Outcome:
        model = hg.DGCClassifier().fit(graph, labels, train=split.train, val=split.val)
        return Outcome(model, facts={"settings": len(model.search_), "T": float(model.T_)})

    return Task(run, self_limiting=False)


def jobs(scale: float) -> list[Job]:
    jobs = []
    for name, work in WORKS.items():
        setting = {"setting": name}
        jobs += [
            Job(work, search, OURS, name, checked=False, limit=LONG_LIMIT),
            Job(work, fit, ONE_FIT, name, setting, compared=False, checked=False),
        ]
    data = reddit(scale)
    protocols = {OURS: "validated", AUTOMATIC: "auto"}
    return [
        *jobs,
        *(
            Job(
                REDDIT,
                fit_inductive,
                peer,
                data,
                {"protocol": protocol},
                limit=LONG_LIMIT,
                checked=False,
            )
            for peer, protocol in protocols.items()
        ),
        Job(REDDIT, fit_inductive, ONE_FIT, data, compared=False, checked=False),
    ]


def derived(results: Results) -> list[Row]:
    """Estimate a search over as many settings with the published algorithm."""
    rows = []
    for work in results.works:
        ours, one = results.find(work), results.find(work, ONE_FIT)
        if ours is None or one is None or not (ours.turns and one.turns):
            continue
        count = ours.facts["settings"]
        turns = [{"median": count * turn["median"]} for turn in one.turns]
        note = f"estimated: {count:,} times one fit" + f", {one.note}" * bool(one.note)
        facts = {"settings": count}
        rows.append(Row(work, MANY_FITS, one.data, note=note, turns=turns, facts=facts))
    return rows


def figures(results: Results) -> list[Figure]:
    return [
        *(
            results.ratio_figure(
                f"{name}: whole search / one published fit",
                work,
                OURS,
                ONE_FIT,
                "<= 0.1" if name == "pubmed" else "",
            )
            for name, work in WORKS.items()
        ),
        Figure(
            "like Reddit: seconds to choose T, fit and predict",
            results.seconds(REDDIT, OURS),
            "<= 600",
        ),
        Figure(
            "like Reddit: seconds with all settings automatic", results.seconds(REDDIT, AUTOMATIC)
        ),
        results.ratio_figure("like Reddit: published search / heatgraph", REDDIT, MANY_FITS),
    ]


SEARCH = Benchmark(
    "search",
    "The whole search",
    [
        "Under the *validated* protocol: all settings are chosen on validation nodes (citation "
        "graphs), or T by cross-validation on the training nodes (like Reddit, inductive), and the "
        "choice is fitted; test nodes are never used. A search with the published algorithm over "
        "as many settings is *estimated*: the time of one fit, as under *Fit and predict*, times "
        "the number of settings. The row of one fit is for comparison and does less.",
    ],
    jobs,
    figures,
    derived=derived,
)
