"""Side-by-side timings against peers: ``python -m benchmarks [NAME]``.

Machines are shared and noisy, so nothing here is compared across runs: peers take turns in one run,
each turn in a process of its own, and what counts is their ratio. Products and bytes do not jitter
and are given beside.

    jobs        what a process is asked to do          rounds      processes by turns, into rows
    workloads   graphs on disk, made once              rows        what came of it
    ours        the work as heatgraph does it          report      docs/performance.md
    peers       the same as others do it               machine     bandwidths of memory
    work        what is timed, by the kind of job
    worker      one turn: set up, time, measure memory

    product, diffusion, fit, search, growth, start     the benchmarks of that page
    accuracy, selection, tables                        others, with pages of their own
"""
