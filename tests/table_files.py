"""Tables of tests of the command line, and the errors about them."""

import csv

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet


def read_rows(path):
    """Rows of a CSV file as dictionaries."""
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def read_predictions(path):
    """Node ids, predictions and probabilities (n, C) of a prediction file."""
    table = pa.parquet.read_table(path) if path.suffix == ".parquet" else None
    if table is None:
        tabs = pa.csv.ParseOptions(delimiter="\t" if ".tsv" in path.name else ",")
        table = pa.csv.read_csv(path, parse_options=tabs)
    columns = [name for name in table.column_names if name.startswith("probability_")]
    values = np.column_stack([table[name].to_numpy() for name in columns])
    return table["id"].to_pylist(), table["prediction"].to_pylist(), values


def shuffle_table(name, seed, columns=True):
    """Write a table again with its rows, and perhaps its columns, in another order."""
    table = pa.csv.read_csv(name)
    rng = np.random.default_rng(seed)
    table = table.take(rng.permutation(table.num_rows))
    if columns:
        table = table.select(rng.permutation(table.column_names).tolist())
    pa.csv.write_csv(table, name)


def add_split(folder, seed=3):
    """Assign the labelled nodes to train, val and test at random."""
    rows = read_rows(folder / "nodes.csv")
    rng = np.random.default_rng(seed)
    for row in rows:
        row["split"] = str(rng.choice(["train", "val", "test"])) if row["label"] else ""
    with open(folder / "nodes.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def assert_error(done, *pieces):
    """One message and exit code 1, without a traceback."""
    assert done.code == 1, done
    assert 1 <= len(done.err.splitlines()) <= 2, done.err
    assert done.err.startswith("heatgraph: ")
    assert "Traceback" not in done.err + done.out
    for piece in pieces:
        assert piece in done.err
