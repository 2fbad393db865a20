import numpy as np

from benchmarks import before_after
from benchmarks.benchmark import Job
from benchmarks.harness import run_job
from benchmarks.results import Row

# A heatgraph with the public names that the tasks use, and no module of its own.
STUB = """
from types import SimpleNamespace
import numpy as np

def load_dataset(name, folder):
    split = SimpleNamespace(train=[0], val=[1], test=[2])
    return SimpleNamespace(graph=name, labels=np.arange(3), split=split)

def diffuse(graph, T, K):
    return np.full((3, 2), T * K)

class DGCClassifier:
    def __init__(self, T):
        self.T = T

    def fit(self, graph, labels, train, val):
        self.labels = labels if val is None else labels + 10
        return self

    def predict(self):
        return self.labels
"""


def run_with_stub(tmp_path, task, **settings):
    package = tmp_path / "src" / "heatgraph"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(STUB)
    settings |= {"dataset": "cora", "folder": ""}
    job = Job("w", task, "stub", settings=settings, checkout=str(tmp_path))
    answer = run_job(job, sample=tmp_path / "sample.npy")
    assert "failed" not in answer, answer
    return np.load(tmp_path / "sample.npy")


def test_diffusion_imports_the_other_checkout(tmp_path):
    sample = run_with_stub(tmp_path, before_after.diffuse, parameters={"T": 2.0, "K": 3})
    np.testing.assert_array_equal(sample, np.full((3, 2), 6.0))


def test_search_gives_validation_nodes_to_the_other_checkout(tmp_path):
    sample = run_with_stub(tmp_path, before_after.fit, parameters={"T": 1.0}, search=True)
    np.testing.assert_array_equal(sample, [10, 11, 12])


def test_jobs_alternate_between_checkouts(tmp_path):
    jobs = before_after.list_jobs(tmp_path, "")
    assert {job.checkout for job in jobs[::2]} == {str(tmp_path)}
    assert {job.checkout for job in jobs[1::2]} == {str(before_after.ROOT)}
    assert [job.work for job in jobs[::2]] == [job.work for job in jobs[1::2]]


def test_table_has_ratios_and_failures():
    rows = [
        Row("Search: Cora", "old", turns=[{"median": 2.5}], agreement=1.0),
        Row("Search: Cora", "heatgraph", turns=[{"median": 5.0}]),
        Row("Diffusion: Pubmed", "old", failed="out of memory"),
        Row("Diffusion: Pubmed", "heatgraph", turns=[{"median": 1.5}]),
    ]
    _, search, diffusion = before_after.format_table(rows).splitlines()
    assert search.split()[2:4] == ["2.5", "s"]
    assert "2.000" in search
    assert "100.00% of predictions" in search
    assert "out of memory" in diffusion


def test_accuracies_are_compared_split_by_split(tmp_path):
    jobs = before_after.list_jobs(tmp_path, "", splits=2)
    assert [job.work for job in jobs[::2]] == [job.work for job in jobs[1::2]]
    assert {job.timed for job in jobs} == {False}
    rows = [
        Row("Cora", "old", turns=[{"median": 1.0}], facts={"accuracies": [80.0, 84.0]}),
        Row("Cora", "heatgraph", turns=[{"median": 1.0}], facts={"accuracies": [81.0, 83.5]}),
        Row("Pubmed", "old", failed="out of memory"),
        Row("Pubmed", "heatgraph", turns=[{"median": 1.0}], facts={"accuracies": [1.0, 2.0]}),
    ]
    _, cora, pubmed = before_after.format_accuracies(rows).splitlines()
    assert cora.split() == ["Cora", "82.00", "82.25", "+0.25", "+-", "0.75"]
    assert pubmed.endswith("out of memory")


def test_accuracies_of_the_default_fit(tmp_path):
    job = Job("w", before_after.accuracies, "heatgraph", settings={
        "dataset": "citeseer", "folder": "", "splits": 1, "validates": True,
    }, timed=False)  # fmt: skip
    (accuracy,) = run_job(job)["facts"]["accuracies"]
    assert 60 < accuracy < 80
