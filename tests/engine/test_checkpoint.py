import os
import signal
import subprocess
import sys
import time
import tracemalloc
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from processes import start

from heatgraph import Graph, Heat, diffuse, diffuse_many, plan
from heatgraph._engine import checkpoint, reordering
from heatgraph._engine.panels import PanelDiffusion
from heatgraph._io import file_lock
from heatgraph.errors import (
    CollapseWarning,
    FileFormatError,
    FileInUseError,
    InputError,
    UnlockedFileWarning,
)

BUDGET = 400_000


def make(n=2000, d=200, seed=0, weighted=False):
    random = np.random.default_rng(seed)
    ends = random.integers(0, n, size=(2, 4 * n))
    weights = random.uniform(1, 2, 4 * n) if weighted else None
    X = random.normal(size=(n, d)).astype(np.float32)
    return Graph.from_edges(*ends, weights, features=X, symmetrize="max", duplicates="max")


@pytest.fixture
def graph():
    return make()


def stopped_after(monkeypatch, panels):
    """Raise KeyboardInterrupt once this many panels are computed, as if killed then."""
    compute, done = PanelDiffusion.compute, []

    def compute_or_stop(self, *args):
        if len(done) == panels:
            raise KeyboardInterrupt
        done.append(args)
        return compute(self, *args)

    monkeypatch.setattr(PanelDiffusion, "compute", compute_or_stop)
    return done


class TestFiles:
    def test_a_file_holds_what_memory_would(self, graph, tmp_path):
        path = tmp_path / "X_T.npy"
        written = diffuse(graph, 3.0, out=path)
        assert isinstance(written, np.memmap)
        assert not written.flags.writeable
        assert_array_equal(written, diffuse(graph, 3.0))
        assert_array_equal(np.load(path, allow_pickle=False), written)
        assert [entry.name for entry in tmp_path.iterdir()] == ["X_T.npy"]

    @pytest.mark.parametrize("rows", [None, [3, 1, 1500], range(1500)])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_many_schemes_any_rows_and_panels(self, tmp_path, rows, dtype, weighted):
        graph = make(weighted=weighted)
        schemes = [Heat(1.0), Heat(2.0)]
        options = {"rows": rows, "dtype": dtype, "memory_budget": 5_000_000}
        path = str(tmp_path / "grid.npy")
        planned = plan(graph, scheme=schemes, out=path, **options)
        assert planned.panels_at_once == 1
        wanted = diffuse_many(graph, schemes, rows=rows, dtype=dtype)
        written = diffuse_many(graph, schemes, out=path, **options)
        # Kernel rows meet the features in BLAS, whose sums depend on how many there are.
        assert_allclose(written, wanted, atol=50 * np.finfo(dtype).eps)
        assert np.load(path).shape == wanted.shape

    def test_a_graph_without_features(self, tmp_path):
        graph = make(n=300).with_features(None)
        written = diffuse(graph, 1.0, out=tmp_path / "kernel.npy", memory_budget=BUDGET)
        assert_array_equal(written, diffuse(graph, 1.0))

    def test_sparse_features(self, graph, tmp_path):
        graph = graph.with_features(sp.csr_array(np.maximum(graph.features, 0)))
        written = diffuse(graph, 1.0, out=tmp_path / "X.npy", memory_budget=10 * BUDGET)
        assert_array_equal(written, diffuse(graph, 1.0))

    def test_an_old_file_is_replaced_at_the_end(self, graph, tmp_path, monkeypatch):
        path = tmp_path / "X.npy"
        path.write_bytes(b"old")
        with monkeypatch.context() as patch:
            stopped_after(patch, 1)
            with pytest.raises(KeyboardInterrupt):
                diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
            assert path.read_bytes() == b"old"
        diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
        assert np.load(path).shape == (2000, 200)

    def test_paths_that_cannot_be_written_are_refused_before_any_work(self, graph, tmp_path):
        (tmp_path / "folder").mkdir()
        for wrong, words in (
            (tmp_path / "nowhere" / "X.npy", "there is no folder"),
            (tmp_path / "folder", "must name a file"),
            ("", "must name a file"),
        ):
            for function in (plan, diffuse):
                with pytest.raises(InputError, match=words):
                    function(graph, 3.0, out=wrong)
        assert [entry.name for entry in tmp_path.iterdir()] == ["folder"]

    def test_features_are_not_overwritten(self, graph, tmp_path):
        np.save(tmp_path / "X.npy", graph.features)
        mapped = graph.with_features(np.load(tmp_path / "X.npy", mmap_mode="r"))
        with pytest.raises(InputError, match="is where the features are"):
            diffuse(mapped, 3.0, out=tmp_path / "X.npy")
        written = diffuse(mapped, 3.0, out=tmp_path / "Y.npy")
        assert_array_equal(written, diffuse(graph, 3.0))

    @pytest.mark.parametrize("count", [1, 2])
    def test_no_rows(self, graph, tmp_path, count):
        schemes = [Heat(1.0 + k) for k in range(count)]
        written = diffuse_many(graph, schemes, rows=[], out=tmp_path / "X.npy")
        assert written.shape == (count, 0, 200)
        assert [entry.name for entry in tmp_path.iterdir()] == ["X.npy"]

    @pytest.mark.usefixtures("always_cut")
    def test_features_beyond_the_budget_are_read_by_few_panels(self, graph, tmp_path):
        np.save(tmp_path / "X.npy", graph.features)
        mapped = graph.with_features(np.load(tmp_path / "X.npy", mmap_mode="r"))
        options = {"out": tmp_path / "Y.npy", "memory_budget": 1_500_000}
        planned = plan(mapped, 3.0, **options)
        assert planned.panel_width > plan(graph, 3.0, **options).panel_width
        assert planned.memory <= 1_500_000
        assert_array_equal(diffuse(mapped, 3.0, **options), diffuse(graph, 3.0))

    @pytest.mark.parametrize("T", [3.0, 2000.0])
    @pytest.mark.parametrize("reorder", [False, True])
    @pytest.mark.parametrize("place", ["file", "array"])
    def test_memory_is_as_planned(self, tmp_path, monkeypatch, place, reorder, T):
        monkeypatch.setattr(reordering, "MIN_LOCALITY_GAIN", -1)
        graph = make(n=20_000, d=64)
        options = {"reorder": reorder, "n_threads": 1}
        diffuse(graph.subgraph(range(50)), 3.0, **options)  # compiles
        assert len(graph.components) == 20_000  # cached before measuring
        out = tmp_path / "X.npy"
        if place == "array":
            out = np.empty((20_000, 64), dtype=np.float32)
        need = plan(graph, T, out=out, **options).memory
        tracemalloc.start()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CollapseWarning)
            diffuse(graph, T, out=out, **options)
        _, taken = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert abs(taken - need) < 0.15 * need


class TestResuming:
    @pytest.mark.parametrize("panels", [0, 1, 3])
    def test_finished_panels_are_not_computed_again(self, graph, tmp_path, monkeypatch, panels):
        path = tmp_path / "X.npy"
        count = len(plan(graph, 3.0, out=path, memory_budget=BUDGET).panels)
        assert count > 4
        with monkeypatch.context() as patch:
            stopped_after(patch, panels)
            with pytest.raises(KeyboardInterrupt):
                diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
        done = stopped_after(monkeypatch, None)
        written = diffuse(graph, 3.0, out=path, memory_budget=BUDGET, n_threads=1)
        assert len(done) == count - panels
        assert_array_equal(written, diffuse(graph, 3.0))

    @pytest.mark.parametrize(
        "change",
        [
            {"T": 3.1},
            {"tol": 1e-3},
            {"self_loops": False},
            {"dtype": np.float64},
            {"memory_budget": BUDGET},
            {"rows": range(1500)},
            {"reorder": True},
            {"scheme": "euler", "K": 9},
        ],
    )
    def test_other_settings_are_refused(self, graph, tmp_path, monkeypatch, change):
        path = tmp_path / "X.npy"
        stopped_after(monkeypatch, 1)
        # Wide enough for all of them to be cut into the same panels.
        budget = 20 * BUDGET
        with pytest.raises(KeyboardInterrupt):
            diffuse(graph, 3.0, out=path, memory_budget=budget)
        before = sorted(entry.name for entry in (tmp_path / "X.npy.unfinished").iterdir())
        assert before
        with pytest.raises(InputError, match="panels of another diffusion.*delete the folder"):
            diffuse(graph, **{"T": 3.0, "memory_budget": budget, "out": path, **change})
        assert sorted(e.name for e in (tmp_path / "X.npy.unfinished").iterdir()) == before

    @pytest.mark.parametrize("part", ["edge", "weight", "feature"])
    def test_other_data_are_refused(self, tmp_path, monkeypatch, part):
        graph, path = make(weighted=True), tmp_path / "X.npy"
        stopped_after(monkeypatch, 1)
        with pytest.raises(KeyboardInterrupt):
            diffuse(graph, 3.0, out=path, memory_budget=3 * BUDGET)
        A, X = graph.adjacency.tolil(), graph.features.copy()
        if part == "feature":
            X[-1, -1] = np.nextafter(X[-1, -1], np.float32(9))
        elif part == "weight":
            i, j = (ends[0] for ends in A.nonzero())
            A[i, j] = A[j, i] = 3
        else:
            A[0, 1] = A[1, 0] = 0 if A[0, 1] else 1
        with pytest.raises(InputError, match="panels of another diffusion"):
            diffuse(Graph(A.tocsr(), X), 3.0, out=path, memory_budget=3 * BUDGET)

    @pytest.mark.parametrize("length", [None, 0, 100])
    def test_a_damaged_panel_is_computed_again(self, graph, tmp_path, monkeypatch, length):
        path = tmp_path / "X.npy"
        with monkeypatch.context() as patch:
            stopped_after(patch, 2)
            with pytest.raises(KeyboardInterrupt):
                diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
        panel = next((tmp_path / "X.npy.unfinished").glob("*.safetensors"))
        raw = bytearray(panel.read_bytes())
        raw[-5] ^= 1
        panel.write_bytes(raw[:length])
        done = stopped_after(monkeypatch, None)
        written = diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
        assert len(done) == len(plan(graph, 3.0, memory_budget=BUDGET, out=path).panels) - 1
        assert_array_equal(written, diffuse(graph, 3.0, n_threads=1))

    def test_leftovers_of_a_finished_run_are_not_used_for_another(
        self, graph, tmp_path, monkeypatch
    ):
        path = tmp_path / "X.npy"

        def killed(self):
            next(self.folder.glob("*.safetensors")).unlink()
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(checkpoint.Checkpoint, "_delete_files", killed)
            with pytest.raises(KeyboardInterrupt):
                diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
        with pytest.raises(InputError, match="panels of another diffusion"):
            diffuse(graph, 4.0, out=path, memory_budget=BUDGET)
        written = diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
        assert_array_equal(written, diffuse(graph, 3.0))

    def test_an_empty_folder_does_not_stop_another_run(self, graph, tmp_path, monkeypatch):
        path = tmp_path / "X.npy"
        with monkeypatch.context() as patch:
            stopped_after(patch, 0)
            with pytest.raises(KeyboardInterrupt):
                diffuse(graph, 3.0, out=path)
        assert list(tmp_path.iterdir()) == []
        (tmp_path / "X.npy.unfinished").mkdir()
        assert_array_equal(diffuse(graph, 4.0, out=path), diffuse(graph, 4.0))

    def test_a_permutation_cached_meanwhile_changes_nothing(self, tmp_path, monkeypatch):
        monkeypatch.setattr(reordering, "MIN_LOCALITY_GAIN", -1)
        graph, path = make(), tmp_path / "X.npy"
        options = {"out": path, "reorder": True, "memory_budget": 3 * BUDGET}
        with monkeypatch.context() as patch:
            stopped_after(patch, 1)
            with pytest.raises(KeyboardInterrupt):
                diffuse(graph, 3.0, **options)
        assert "reordered_graph" in graph.cache
        assert_allclose(diffuse(graph, 3.0, **options), diffuse(graph, 3.0), atol=1e-5)

    def test_a_full_disk_keeps_finished_panels(self, graph, tmp_path, monkeypatch):
        path, write = tmp_path / "X.npy", checkpoint.write_tensors
        written = []

        def full(file, *args):
            if len(written) == 2:
                raise OSError(28, "No space left on device")
            written.append(file)
            write(file, *args)

        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "write_tensors", full)
            with pytest.raises(OSError, match="No space left"):
                diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
        assert len(list((tmp_path / "X.npy.unfinished").glob("*.safetensors"))) == 2
        assert_array_equal(diffuse(graph, 3.0, out=path, memory_budget=BUDGET), diffuse(graph, 3.0))


class TestOneProcessAtATime:
    @pytest.mark.parametrize("T", [3.0, 4.0])
    def test_a_second_call_is_refused_and_the_first_is_not_disturbed(self, graph, tmp_path, T):
        path, refused = tmp_path / "X.npy", []

        def call_again(done, total):
            if not refused:
                with pytest.raises(FileInUseError, match=f"process {os.getpid()} on .*another"):
                    diffuse(graph, T, out=path)
                refused.append(done)

        written = diffuse(graph, 3.0, out=path, memory_budget=BUDGET, progress=call_again)
        assert refused
        assert_array_equal(written, diffuse(graph, 3.0))
        assert [entry.name for entry in tmp_path.iterdir()] == ["X.npy"]

    @pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
    @pytest.mark.signals
    def test_the_lock_ends_with_its_owner(self, graph, tmp_path):
        path = tmp_path / "X.npy"
        stopped = "progress=lambda *_: (print('ready', flush=True), input())"
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with start([sys.executable, "-c", job(path, 3.0, BUDGET, stopped)], **options) as process:
            process.stdout.readline()
            with pytest.raises(FileInUseError, match=f"process {process.pid} on"):
                diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
            process.send_signal(signal.SIGKILL)
        written = diffuse(graph, 3.0, out=path, memory_budget=BUDGET)
        assert_array_equal(written, diffuse(graph, 3.0))
        assert [entry.name for entry in tmp_path.iterdir()] == ["X.npy"]

    @pytest.mark.slow
    @pytest.mark.parametrize("times", [(3.0, 3.0), (3.0, 4.0)])
    def test_processes_that_race(self, graph, tmp_path, times):
        """Each gives the right result or says that another is writing; none mixes them."""
        path, rounds, wanted = tmp_path / "X.npy", 30, {T: diffuse(graph, T) for T in times}
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        processes = [
            subprocess.Popen([sys.executable, "-c", rounds_of(path, T)], **options) for T in times
        ]
        try:
            for process in processes:
                process.stdout.readline()
            for _ in range(rounds):
                for process in processes:
                    process.stdin.write("go\n")
                    process.stdin.flush()
                answers = [process.stdout.readline().strip() for process in processes]
                assert set(answers) <= {"done", "FileInUseError"}
                done = [T for T, answer in zip(times, answers, strict=True) if answer == "done"]
                assert done
                assert any(np.array_equal(np.load(path), wanted[T]) for T in done)
                assert [entry.name for entry in tmp_path.iterdir()] == ["X.npy"]
                path.unlink()
        finally:
            for process in processes:
                process.communicate()

    @pytest.mark.filterwarnings("ignore::heatgraph.errors.UnlockedFileWarning")
    def test_without_locks_panels_of_another_diffusion_are_not_assembled(
        self, tmp_path, monkeypatch
    ):
        def refuse(descriptor):
            raise OSError(37, "No locks available")

        monkeypatch.setattr(file_lock, "_lock", refuse)
        path, panels = tmp_path / "X.npy", [slice(0, 2), slice(2, 4)]
        options = ((1, 3, 4), np.dtype(np.float32), 2, panels)
        values = np.ones((1, 3, 2), dtype=np.float32)
        with (
            checkpoint.Checkpoint(path, "first", *options) as first,
            checkpoint.Checkpoint(path, "second", *options) as second,
        ):
            for panel in panels:
                first.save(panel, values)
            second.save(panels[1], values)
            with pytest.raises(FileFormatError, match="2-4.safetensors was replaced by a panel of"):
                first.finish()
        assert not path.exists()

    def test_without_locks_the_caller_is_warned(self, graph, tmp_path, monkeypatch):
        def refuse(descriptor):
            raise OSError(37, "No locks available")

        monkeypatch.setattr(file_lock, "_lock", refuse)
        with pytest.warns(UnlockedFileWarning, match="X.npy: its file system has no locks"):
            diffuse(graph, 3.0, out=tmp_path / "X.npy")


HERE = os.path.dirname(__file__)
IMPORTS = f"""
import sys, numpy as np
sys.path[:0] = {[HERE, os.path.dirname(HERE)]!r}
from test_checkpoint import BUDGET, make
from heatgraph import diffuse
"""


def job(path, T, budget, options="", n=2000):
    """Code that diffuses to a path."""
    call = f"diffuse(make(n={n}), {T}, out={str(path)!r}, memory_budget={budget}, {options})"
    return f"{IMPORTS}{call}\n"


def rounds_of(path, T):
    """Code that diffuses to a path once for every line of its standard input."""
    return f"""{IMPORTS}
graph = make()
diffuse(graph, 1.0)  # compiles
print("ready", flush=True)
for line in sys.stdin:
    try:
        diffuse(graph, {T}, out={str(path)!r}, memory_budget=BUDGET)
        print("done", flush=True)
    except Exception as error:
        print(type(error).__name__, flush=True)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.signals
@pytest.mark.slow
def test_kill_9_at_any_moment(tmp_path):
    graph, path = make(n=20_000), tmp_path / "X.npy"
    folder = tmp_path / "X.npy.unfinished"
    code = job(path, 30.0, 10 * BUDGET, n=20_000)
    random = np.random.default_rng(0)
    for kill in range(3):
        process = start([sys.executable, "-c", code])
        started = time.monotonic()
        before = len(list(folder.glob("*.safetensors")))
        while len(list(folder.glob("*.safetensors"))) == before and process.poll() is None:
            assert time.monotonic() - started < 60
            time.sleep(0.005)
        time.sleep(random.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        if path.exists():
            break
        there = list(folder.glob("*.safetensors"))
        assert len(there) > kill
    assert_array_equal(
        diffuse(graph, 30.0, out=path, memory_budget=10 * BUDGET), diffuse(graph, 30.0)
    )
    assert [entry.name for entry in tmp_path.iterdir()] == ["X.npy"]
