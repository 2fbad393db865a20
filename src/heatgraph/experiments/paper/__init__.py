"""Reproduction of the paper: its numbers as data, its authors' settings, and its experiments.

- `published`: every number that the paper prints, from ``published.csv``
- `settings`: the authors' settings, for the *published* protocol
- ``table*``, ``figure*``, ``theorem*``, `random_splits`, `networks`: one experiment each
- `catalogue`: the experiments by name
- `reproduction`: runs experiments and writes the report
"""
