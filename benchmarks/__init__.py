"""heatgraph against peers, and accuracies: ``python -m benchmarks [NAME]``.

The machines are shared and noisy, so times are never compared across runs: peers are interleaved in
one run, each in a process of its own, and their ratio is the result. Products and bytes do not vary
and are reported with the times.

    suite/        the benchmarks, one module each: tasks, jobs, figures and description
    registry      the benchmarks by name
    benchmark     what a benchmark is made of
    workloads     graphs and tables on disk, generated once
    peers         other libraries doing the same work
    harness       interleaved rounds of processes
    worker        one process: warm up, set up, time, measure memory
    memory        peak memory of a process
    bandwidth     copy and gather bandwidth of the machine
    reference     whether peers computed the same
    results       rows of results, and their JSON
    charts        bars of times
    report        pages of the documentation, tables on the terminal
    before_after  two checkouts of heatgraph in one run
"""
