"""Side-by-side timings against peers: ``python -m benchmarks [NAME]``.

Machines are shared and noisy, so nothing here is compared across runs: peers take turns in one run,
and what counts is their ratio. Products and bytes do not jitter and are printed beside.
"""
