"""Every kind of feature from files to predictions and explanations, and files that are refused."""

import csv
import datetime
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from table_files import assert_error, read_predictions

NUM_NODES = 60
TABLES = ("nodes.csv", "edges.csv")
FIXED = ("--T", "1", "--weight-decay", "1e-2")
TOPICS = [["neural", "network", "deep"], ["galaxy", "star", "orbit"], ["gene", "cell", "tissue"]]


def topic_words(row, random):
    """A title whose words depend on the class of the row."""
    return " ".join([*random.choice(TOPICS[row % 3], 3), "study", f"part{row % 7}"])


# The column of each kind from a row and a generator; what the report says; a feature that tells
# classes apart; a value that no training node has; and what is said about it.
KINDS = {
    "category": (
        lambda row, _: ["FR", "DE", "US"][row % 3],
        "x: category of 3 values", "x=", "XX", "a value that no training node has (such as 'XX')",
    ),
    "boolean": (
        lambda row, _: ["true", "false"][row % 3 == 0], "x: yes or no", "x", "", "filled in",
    ),
    "number with gaps": (
        lambda row, _: ["", "1.5", "7"][row % 3], "x: number", "x", "NA", "filled in",
    ),
    "text": (
        topic_words, "x: text of ", "x: ", "zzz qqq vvv www", "none of the words",
    ),
    "date": (
        lambda row, _: f"202{row % 3}-0{1 + row % 9}-1{row % 7}",
        "x: date", "x: ", "2031-12-05", "a year, month or weekday that no training node has",
    ),
    "bag of ids": (
        lambda row, random: json.dumps([row % 3, *range(3, 3 + random.integers(4))]),
        "x: bag of 6 items", "x=", "[999]", "items that no training node has (such as '999')",
    ),
    "bag of words": (
        lambda row, random: json.dumps([["u", "v", "w"][row % 3], *["z"] * random.integers(3)]),
        "x: bag of 4 items", "x=", '["new"]', "items that no training node has (such as 'new')",
    ),
}  # fmt: skip


def write_rows(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)


def write_tables(folder, make, header="x"):
    """Two tables of three classes; every second node has a label."""
    random = np.random.default_rng(0)
    labels = [["red", "green", "blue"][row % 3] if row % 2 else "" for row in range(NUM_NODES)]
    nodes = [[f"n{row}", labels[row], make(row, random)] for row in range(NUM_NODES)]
    write_rows(folder / "nodes.csv", [["id", "label", header], *nodes])
    edges = [[f"n{row}", f"n{(row + 3) % NUM_NODES}"] for row in range(NUM_NODES)]
    write_rows(folder / "edges.csv", [["source", "target"], *edges])
    return nodes


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("kind", KINDS)
def test_from_files_to_explanations(here, run, kind):
    make, reported, feature, unknown, told = KINDS[kind]
    nodes = write_tables(here, make)
    done = run("fit", *TABLES, *FIXED, "-m", "model", "-o", "p.csv")
    assert done.code == 0, done.err
    if reported != "x: number":
        assert reported in done.out
    again = run("predict", "model", *TABLES, "-o", "q.csv")
    assert again.code == 0, again.err
    assert (here / "p.csv").read_bytes() == (here / "q.csv").read_bytes()
    explained = json.loads(run("explain", "model", *TABLES, "--node", "n4", "--json").out)
    assert any(entry["feature"].startswith(feature) for entry in explained["features"])
    report = json.loads(run("info", *TABLES, "--json").out)["read"]
    (use,) = [use for use in report["column_uses"] if use["column"] == "x"]
    assert use["description"] in reported or reported in f"x: {use['description']}"
    assert use["num_features"] == report["features"]
    nodes[0][2] = unknown
    write_rows("nodes.csv", [["id", "label", "x"], *nodes])
    done = run("predict", "model", *TABLES, "-o", "q.csv")
    assert done.code == 0, done.err
    assert told in done.words
    assert "1 of 60 nodes" in done.words or kind == "number with gaps"
    names, _, values = read_predictions(here / "q.csv")
    assert len(names) == NUM_NODES
    assert np.isfinite(values).all()


def test_a_category_of_codes_is_not_read_as_numbers(here, run):
    nodes = write_tables(here, lambda row, _: ["007", "08", "x"][row % 3])
    assert run("fit", *TABLES, *FIXED, "-m", "model").code == 0
    few = [row for row in nodes if row[2] != "x"]
    write_rows("nodes.csv", [["id", "label", "x"], *few])
    write_rows("edges.csv", [["source", "target"], ["n0", "n3"]])
    done = run("predict", "model", *TABLES, "-o", "q.csv")
    assert done.code == 0
    assert "no training node has" not in done.words


def test_parquet_dictionaries_dates_and_lists(here, run):
    write_tables(here, lambda row, _: row)
    rows = range(NUM_NODES)
    table = pa.table(
        {
            "id": [f"n{row}" for row in rows],
            "label": [["r", "g", "b"][row % 3] for row in rows],
            "country": pa.array([["FR", "DE"][row % 2] for row in rows]).dictionary_encode(),
            "when": [datetime.datetime(2020 + row % 3, 1, 1 + row % 9) for row in rows],
            "tags": [["u"] * (row % 3) for row in rows],
            "ids": [[row % 5] * (1 + row % 2) for row in rows],
            "embedding": [[row % 3 + 0.5, 1.0] for row in rows],
        }
    )
    pa.parquet.write_table(table, "nodes.parquet")
    done = run("fit", "nodes.parquet", "edges.csv", *FIXED, "-m", "model", "--json")
    uses = json.loads(done.out)["read"]["column_uses"]
    assert {use["column"]: use["use"] for use in uses} == {
        "id": "id", "label": "label", "country": "category", "when": "date", "tags": "bag",
        "ids": "bag", "embedding": "vector",
    }  # fmt: skip
    assert run("predict", "model", "nodes.parquet", "edges.csv", "-o", "q.csv").code == 0


def test_columns_that_are_left_out_are_told(here, run):
    rows = [
        [f"n{at}", "ab"[at % 2], 10**8 + 7 * at, "web", "1,5", at / 7] for at in range(NUM_NODES)
    ]
    header = ["id", "label", "account", "origin", "price", "size"]
    write_tables(here, lambda row, _: row)
    write_rows("nodes.csv", [header, *rows])
    done = run("info", *TABLES)
    for note in (
        "not used (integers that look like ids): account",
        "not used (constant): origin",
        "not used (numbers with decimal commas; set decimal (--decimal) to ','",
    ):
        assert note in done.words
    rows = [[*row[:4], f"{at},5", "1.234"] for at, row in enumerate(rows)]
    write_rows("nodes.csv", [header, *rows])
    report = json.loads(run("info", *TABLES, "--decimal", ",", "--json").out)["read"]
    uses = {use["column"]: use["description"] for use in report["column_uses"]}
    assert uses["price"] == "number"
    assert uses["size"] == "constant"  # 1234 in every row
    done = run("fit", *TABLES, *FIXED, "--decimal", ",", "--features", "price,size", "-m", "model")
    assert done.code == 0, done.err
    assert run("predict", "model", *TABLES, "-o", "p.csv", "--decimal", ",").code == 0
    assert run("predict", "model", *TABLES, "-o", "q.csv").code == 0
    assert (here / "p.csv").read_bytes() == (here / "q.csv").read_bytes()


def test_columns_and_a_feature_table_together(here, run):
    nodes = write_tables(here, lambda row, _: ["FR", "DE"][row % 2])
    words = [[row[0], TOPICS[at % 3][0], 1] for at, row in enumerate(nodes)]
    write_rows("words.csv", [["node", "feature", "value"], *words])
    done = run("fit", *TABLES, *FIXED, "--features", "x,words.csv", "-m", "model", "-o", "p.csv")
    assert done.code == 0, done.err
    done = run("predict", "model", *TABLES, "--features", "words.csv", "-o", "q.csv")
    assert done.code == 0, done.err
    assert (here / "p.csv").read_bytes() == (here / "q.csv").read_bytes()
    assert_error(
        run("predict", "model", *TABLES, "-o", "r.csv"),
        "lacks features that the model was fitted with: neural", "table of their own",
    )  # fmt: skip
    assert_error(
        run("fit", *TABLES, "--features", "x,words.csv", "-o", "words.csv"),
        "words.csv is named twice",
    )
    write_tables(here, lambda row, _: ["FR", "DE"][row % 2])
    run("fit", *TABLES, *FIXED, "-m", "model")
    assert_error(
        run("predict", "model", *TABLES, "--features", "words.csv", "-o", "r.csv"),
        "the model encodes columns of nodes.csv, and reads no feature table. Leave it out.",
    )


def test_missing_values_as_the_user_says(here, run):
    write_tables(here, lambda row, _: ["", "2"][row % 3 > 0] if row % 5 else "3.5")
    features = {}
    for missing in ("indicator", "mean"):
        done = run("info", *TABLES, "--missing", missing, "--json")
        report = json.loads(done.out)["read"]
        features[missing] = report["features"]
        assert "filled in with the training nodes' mean" in report["remarks"][0]
    assert features == {"indicator": 2, "mean": 1}
    done = run("info", *TABLES, "--missing", "error")
    assert_error(done, "nodes.csv, line 5: column 'x' is blank (16 such in all)", "--missing")
    assert run("info", *TABLES, "--missing", "zero").code == 2


# A value in the tenth row that does not fit the others, and what the error says.
BAD_VALUES = {
    "a word among numbers": ("{at}.5", "big", "has 'big' among numbers", "Correct it"),
    "infinity": ("{at}.5", "inf", "is inf", "Features must be finite"),
    "a number beyond float32": ("{at}.5", "1e39", "is 1e+39", "below 3.4e38"),
    "an integer beyond float64": ("{at}.5", "1" * 400, "is inf", "Features must be finite"),
    "hexadecimal": ("{at}.5", "0x1F", "has '0x1F' among numbers", "Correct it"),
    "a ragged list of floats": ("[{at}.5, 2.5]", "[0.5]", "has a list of 1 numbers, and the",
                                "pad or correct them"),
    "an empty list of floats": ("[{at}.5, 2.5]", "[]", "a list of 0 numbers", "same length"),
    "a list in a list": ("[{at}, 2]", "[[1], 2]", "which is not a list such as", "Correct it"),
    "a list without an end": ("[{at}, 2]", "[1, 2", "which is not a list such as", "Correct it"),
    "words without quotes": ('["u", "v{at}"]', "[u, v]", "which is not a list such as", "Correct"),
    "a record among lists": ('["u", "v{at}"]', '[{"u": 1}]', "which is not a list", "Correct it"),
    "infinity in a list": ("[{at}.5, 2.5]", "[1, inf]", "is inf", "Features must be finite"),
    "a word among dates": ("2024-01-{day}", "soon", "has 'soon' among dates", "Correct it"),
    "a day that does not exist": ("2024-01-{day}", "2024-02-30", "has '2024-02-30' among dates",
                                  "Correct it"),
    "a year beyond four digits": ("2024-01-{day}", "12024-01-01", "has '12024-01-01' among dates",
                                  "Correct it"),
    "the year zero": ("2024-01-{day}", "0000-01-01", "outside the years 1 to 9999", "Correct it"),
    "a time without its zone": ("2024-01-{day}T10:00Z", "2024-01-01T10:00", "without a time zone",
                                "Give all of them a zone, or none."),
    "a date in another order": ("2024-01-{day}", "31/12/2024", "has '31/12/2024' among dates",
                                "Correct it"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_VALUES)
def test_bad_values_are_located(here, run, case):
    pattern, bad, *pieces = BAD_VALUES[case]

    def make(row, _):
        filled = pattern.replace("{at}", str(row)).replace("{day}", f"{1 + row % 28:02}")
        return bad if row == 9 else filled

    write_tables(here, make)
    done = run("fit", *TABLES, *FIXED, "-m", "model")
    assert_error(done, "nodes.csv, line 11: column 'x' ", *pieces)
    assert not (here / "model").exists()


def test_an_encoding_other_than_utf_8(here, run):
    write_tables(here, lambda row, _: ["Köln", "Rom"][row % 2])
    text = (here / "nodes.csv").read_text(encoding="utf-8")
    (here / "nodes.csv").write_bytes(text.encode("latin-1"))
    assert_error(run("fit", *TABLES), "nodes.csv, line 2: byte 0xF6", "Save the file as UTF-8.")


# A model fitted to one kind of column, and a table with another.
OTHER_KINDS = {
    "words for numbers": ("{at}.5", "word", "line 2: column 'x' has 'word' among numbers"),
    "numbers for dates": ("2024-01-{day}", "5", "column 'x' must be dates, and has type int64"),
    "numbers for vectors": (
        "[{at}.5, 2]",
        "5",
        "column 'x' must be lists of numbers, and has type",
    ),
    "longer vectors": ("[{at}.5, 2]", "[1, 2, 3]", "a list of 3 numbers, and the model expects 2"),
    "dates for numbers": ("{at}.5", "2024-01-01", "column 'x' must be numeric, and has type date"),
    "text for bags": ('["u{day}"]', "u", "which is not a list such as"),
}


@pytest.mark.parametrize("case", OTHER_KINDS)
def test_another_kind_at_prediction(here, run, case):
    pattern, other, message = OTHER_KINDS[case]
    write_tables(
        here, lambda row, _: pattern.replace("{at}", str(row)).replace("{day}", f"{10 + row % 9}")
    )
    assert run("fit", *TABLES, *FIXED, "-m", "model").code == 0
    write_tables(here, lambda row, _: other)
    done = run("predict", "model", *TABLES, "-o", "p.csv")
    assert_error(done, "nodes.csv", message)
    assert not (here / "p.csv").exists()


def test_many_kinds_are_listed_compactly(here, run):
    write_tables(here, lambda row, _: row)
    rows = range(NUM_NODES)
    columns = {f"f{at}": [(row * at) % 7 + 0.5 for row in rows] for at in range(1, 40)}
    columns |= {f"c{at}": [f"v{row % (2 + at)}" for row in rows] for at in range(25)}
    table = pa.table({"id": [f"n{row}" for row in rows], **columns})
    pa.parquet.write_table(table, "nodes.parquet")
    done = run("info", "nodes.parquet", "edges.csv", "--features", "f*,c*")
    assert "39   f1, f2, f3, f4, ... (39 columns): number" in done.out
    assert "... and 6 more kinds" in done.out


def test_new_nodes_are_encoded_like_the_graph(here, run):
    nodes = write_tables(here, KINDS["text"][0])
    done = run("fit", *TABLES, *FIXED, "--extensions", "none", "-m", "model", "--with-graph")
    assert done.code == 0, done.err
    write_rows("new.csv", [["id", "x"], ["new", nodes[0][2]], ["other", "words of its own"]])
    write_rows("links.csv", [["source", "target"], ["new", "n0"], ["other", "n1"]])
    done = run("predict", "model", "new.csv", "links.csv", "--new", "-o", "q.csv")
    assert done.code == 0, done.err
    assert "1 of 2 nodes none of the words of training nodes" in done.out
    names, predicted, _ = read_predictions(here / "q.csv")
    assert (names, predicted[0]) == (["new", "other"], "red")


@pytest.mark.parametrize(("value", "mark"), [("1_000", "."), ("\u0663", "."), ("1,5", ",")])
def test_numbers_in_other_writing_are_told_or_read(run, tmp_path, monkeypatch, value, mark):
    monkeypatch.chdir(tmp_path)
    rows = [f"{at};{'ab'[at % 2]};{value}{at % 7}\n" for at in range(30)]
    (tmp_path / "nodes.csv").write_text("id;label;x\n" + "".join(rows), encoding="utf-8")
    (tmp_path / "edges.csv").write_text("source;target\n1;2\n")
    told = run("info", *TABLES)
    assert (told.code, told.err) == (0, "")
    assert "nodes.csv: not used (numbers with " in told.words
    assert f"set decimal (--decimal) to '{mark}' to read them" in told.words
    remarks = json.loads(run("info", *TABLES, "--json").out)["read"]["remarks"]
    assert "to read them" in remarks[0]
    assert "features 1 x (detected)" in run("info", *TABLES, "--decimal", mark).words
