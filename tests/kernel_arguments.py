"""Random arguments of the fused kernel."""

import numpy as np

from heatgraph._engine.kernel_arguments import Accumulators, Step


def random_arguments(S, seed, width, M, alpha, beta):
    """A step and accumulators of random numbers; with beta = 0, outputs are uninitialised: NaN."""
    random = np.random.default_rng(seed)
    current, out = random.normal(size=(2, S.num_nodes, width)).astype(S.dtype)
    sums = random.normal(size=(M, S.num_nodes, width)).astype(S.dtype)
    initial, coefficients = random.normal(size=(2, M)).astype(S.dtype)
    scale = random.uniform(1, 2, size=S.num_nodes).astype(S.dtype)
    scale.flags.writeable = False
    if beta == 0:
        out[...] = sums[...] = np.nan
    number = S.dtype.type
    step = Step(number(alpha), number(beta), current, out)
    return step, Accumulators(initial, coefficients, sums, scale)


def copied(step, accumulators):
    """The same arguments with outputs of their own."""
    return step._replace(out=step.out.copy()), accumulators._replace(sums=accumulators.sums.copy())
