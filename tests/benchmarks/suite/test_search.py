from benchmarks.results import Results, Row
from benchmarks.suite.search import MANY_FITS, ONE_FIT, WORKS, derived


def test_search_of_the_published_algorithm_is_estimated_from_one_fit():
    work = WORKS["cora"]
    ours = Row(work, "heatgraph", turns=[{"median": 3.0}], facts={"settings": 800})
    one = Row(work, ONE_FIT, turns=[{"median": 2.0}], note="extrapolated")
    results = Results("search", {}, 1, 1.0, 0.0, {}, {}, [ours, one])
    (many,) = derived(results)
    assert (many.peer, many.seconds) == (MANY_FITS, 1600.0)
    assert many.note == "estimated: 800 times one fit, extrapolated"
    one.turns = []
    assert derived(results) == []
