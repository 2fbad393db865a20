"""The benchmarks, one module each: tasks, jobs, figures and description."""
