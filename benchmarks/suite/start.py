"""Cold start: whole processes, from their start to the first result."""

from __future__ import annotations

from benchmarks.benchmark import OURS, Benchmark, Figure, Job
from benchmarks.results import Results

IMPORT, FIRST, UNCOMPILED = "Import", "First diffusion", "First diffusion, nothing compiled yet"
COMMANDS = "Commands"
DIFFUSE = (
    "import numpy as np, heatgraph as hg; "
    "g = hg.Graph.from_edges([0, 1], [1, 2], features=np.eye(3), symmetrize='max'); "
    "hg.diffuse(g, T=1.0)"
)
SPMM = "import torch; S = torch.eye(3).to_sparse_csr(); S @ torch.ones(3, 3)"
SGCONV = (
    "import torch; from torch_geometric.nn import SGConv; "
    "SGConv(3, 3)(torch.eye(3), torch.tensor([[0, 1], [1, 2]]))"
)
EXPM = (
    "import numpy as np, scipy.sparse as sp; from scipy.sparse.linalg import expm_multiply; "
    "expm_multiply(sp.eye_array(3).tocsr(), np.eye(3))"
)
MODULES = {
    "torch": "torch",
    "PyG": "torch_geometric",
    "scikit-learn": "sklearn",
    "PyGSP": "pygsp",
    "scikit-network": "sknetwork",
}


def jobs(scale: float) -> list[Job]:
    others = {"torch, a product": SPMM, "PyG, SGConv": SGCONV, "SciPy, expm_multiply": EXPM}
    return [
        _python(IMPORT, OURS, "import heatgraph"),
        *(_python(IMPORT, peer, f"import {module}") for peer, module in MODULES.items()),
        _python(FIRST, OURS, DIFFUSE),
        *(_python(FIRST, peer, code) for peer, code in others.items()),
        _python(UNCOMPILED, OURS, DIFFUSE, nothing_compiled=True),
        *(_python(UNCOMPILED, peer, code) for peer, code in others.items()),
        _command(COMMANDS, "heatgraph --version", ["heatgraph", "--version"]),
        _command(COMMANDS, "heatgraph demo", ["heatgraph", "demo"]),
    ]


def _python(work: str, peer: str, code: str, **settings: bool) -> Job:
    return _command(work, peer, ["python", "-c", code], **settings)


def _command(work: str, peer: str, command: list[str], **settings: bool) -> Job:
    return Job(work, None, peer, settings={"command": command, **settings}, checked=False)


def figures(results: Results) -> list[Figure]:
    return [
        results.ratio_figure("import: torch / heatgraph", IMPORT, "torch"),
        results.ratio_figure("first diffusion: torch / heatgraph", FIRST, "torch, a product"),
    ]


START = Benchmark(
    "start",
    "Cold start",
    [
        "Whole processes, from start to end. `import heatgraph` defers all other imports, so their "
        "cost is in the first diffusion, of a graph with three nodes. That is timed with kernels "
        "compiled by an earlier process, and with none, as after an installation. Peers do a first "
        "operation of their own.",
    ],
    jobs,
    figures,
)
