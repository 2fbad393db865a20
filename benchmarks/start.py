"""Cold start: from a shell's prompt to the first result."""

from __future__ import annotations

from benchmarks.jobs import OURS, Benchmark, Figure, Job
from benchmarks.rows import Results

IMPORT, FIRST, COMPILED = "Import", "First diffusion", "First diffusion, nothing compiled yet"
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


def _python(work: str, peer: str, code: str, **settings: bool) -> Job:
    command = ["python", "-c", code]
    return Job(work, "command", peer, "", {"command": command, **settings}, checked=False)


def jobs(scale: float) -> list[Job]:
    others = {"torch, a product": SPMM, "PyG, SGConv": SGCONV, "SciPy, expm_multiply": EXPM}
    return [
        _python(IMPORT, OURS, "import heatgraph"),
        *(_python(IMPORT, peer, f"import {module}") for peer, module in MODULES.items()),
        _python(FIRST, OURS, DIFFUSE),
        *(_python(FIRST, peer, code) for peer, code in others.items()),
        _python(COMPILED, OURS, DIFFUSE, nothing_compiled=True),
        *(_python(COMPILED, peer, code) for peer, code in others.items()),
        *(
            Job(COMMANDS, "command", peer, "", {"command": ["heatgraph", argument]}, checked=False)
            for peer, argument in (
                ("heatgraph --version", "--version"),
                ("heatgraph demo", "demo"),
            )
        ),
    ]


def figures(results: Results) -> list[Figure]:
    return [
        Figure(
            f"{work.lower()}: torch / heatgraph",
            results.ratio(work, peer, OURS),
        )
        for work, peer in ((IMPORT, "torch"), (FIRST, "torch, a product"))
    ]


START = Benchmark(
    "start",
    "Cold start",
    [
        "Whole processes, from start to end. `import heatgraph` imports nothing by itself, so "
        "that what it costs is seen in the first diffusion, of a graph of three nodes; with "
        "kernels compiled by an earlier process, and with none, as after an installation. Beside "
        "it the first thing that others do.",
    ],
    jobs,
    figures,
)
