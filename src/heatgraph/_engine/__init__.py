"""How r(S) is applied to features: series, plan, recurrence, kernels; private."""
