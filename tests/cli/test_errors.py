"""Unusable input: one error message, exit code 1, and no file written."""

import pyarrow as pa
import pyarrow.parquet
import pytest
from table_files import assert_error

FIT = ("fit", "nodes.csv", "edges.csv", "--T", "2", "--weight-decay", "1e-3")
WRITE = ("-o", "p.csv", "-m", "fresh")


def replace(name, old, new):
    def change(folder):
        content = (folder / name).read_bytes()
        assert old in content
        (folder / name).write_bytes(content.replace(old, new, 1))

    return change


def append(name, *lines):
    def change(folder):
        with (folder / name).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    return change


def overwrite(name, value):
    return lambda folder: (folder / name).write_bytes(value)


def shorten_line(name, number):
    def change(folder):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        lines[number - 1] = lines[number - 1].rsplit(",", 2)[0]
        (folder / name).write_text("\n".join(lines), encoding="utf-8")

    return change


def set_cell(name, number, column, value):
    def change(folder):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        cells = lines[number - 1].split(",")
        cells[column] = value
        lines[number - 1] = ",".join(cells)
        (folder / name).write_text("\n".join(lines), encoding="utf-8")

    return change


def keep_one_class(folder):
    text = (folder / "nodes.csv").read_text(encoding="utf-8")
    for colour in ("green", "blue"):
        text = text.replace(f",{colour},", ",,")
    (folder / "nodes.csv").write_text(text, encoding="utf-8")


def truncate_parquet(folder):
    table = pa.table({"id": [f"n{at}" for at in range(100)]})
    pa.parquet.write_table(table, folder / "nodes.parquet")
    with (folder / "nodes.parquet").open("r+b") as file:
        file.truncate(200)


def unchanged(folder):
    pass


UNKNOWN_IDS = append("edges.csv", "n0,ghost1", "ghost2,n1", "n2,ghost3", "n3,ghost4", "n4,ghost4")


# Name: what is done to the tables, the command line, and parts of the message.
CASES = {
    "a missing file": (
        lambda folder: (folder / "nodes.csv").rename(folder / "node.csv"), FIT,
        "nodes.csv: there is no such file. Did you mean 'node.csv'?",
    ),
    "a wrong column": (
        unchanged, (*FIT, "--label", "lable"),
        "nodes.csv has no column 'lable'. Did you mean 'label'? It has id, label, f0",
    ),
    "ids that no node has": (
        UNKNOWN_IDS, FIT,
        "'ghost1' in column 'target' is not an id of nodes.csv. 4 unknown ids ('ghost",
        ", ...) in 5 rows: add these nodes, or drop these rows (--unknown-edges drop or add).",
    ),
    "a short row": (
        shorten_line("nodes.csv", 42), FIT, "nodes.csv, line 42 has 6 of 8 columns: 'n40,",
    ),
    "bytes that are not UTF-8": (
        replace("nodes.csv", b"n40,", b"n40\xff,"), FIT,
        "nodes.csv, line 42: byte 0xFF at position 4 is not UTF-8. Save the file as UTF-8.",
    ),
    "a NUL byte": (
        replace("edges.csv", b"n5,n8", b"n5,\0n8"), FIT, "edges.csv, line ", "NUL byte",
    ),
    "a feature that is NaN": (
        set_cell("nodes.csv", 12, 3, "nan"), (*FIT, "--missing", "error"),
        "nodes.csv, line 12: column 'f1' is nan", "--missing",
    ),
    "labels of one class": (keep_one_class, FIT, "class", "'red'"),
    "an empty file": (
        overwrite("edges.csv", b""), FIT,
        "edges.csv is empty. Expected a line with the names of the columns",
    ),
    "Parquet that is not Parquet": (
        lambda folder: (folder / "nodes.csv").rename(folder / "nodes.parquet"),
        ("fit", "nodes.parquet", "edges.csv"),
        "nodes.parquet is not a Parquet file: it starts with b'id,l', and Parquet with b'PAR1'.",
    ),
    "no folder for the output": (
        unchanged, ("fit", "nodes.csv", "edges.csv", "-o", "nowhere/p.csv"),
        "p.csv: there is no folder nowhere. Make it first.",
    ),
    "an output that is the nodes": (
        unchanged, ("fit", "nodes.csv", "edges.csv", "-o", "./nodes.csv"),
        "nodes.csv is named twice, and would be overwritten. Name another file.",
    ),
    "too little memory": (
        unchanged, (*FIT, "--memory", "1KB"), "nodes.csv", "memory budget", "Raise the budget",
    ),
    "a missing folder": (
        unchanged, ("fit", "nowhere/nodes.csv", "edges.csv"),
        "nodes.csv: there is no such file, and no folder nowhere.",
    ),
    "a folder": (unchanged, ("fit", ".", "edges.csv"), ". is a folder. Name a file."),
    "no column of labels": (
        replace("nodes.csv", b"label", b"remark"), FIT,
        "no column of nodes.csv was detected or named for them. Name it with --label", "--label",
    ),
    "a feature that is blank": (
        set_cell("nodes.csv", 12, 3, ""), (*FIT, "--missing", "error"),
        "nodes.csv, line 12: column 'f1' is blank", "--missing",
    ),
    "a file with a header only": (
        overwrite("nodes.csv", b"id,label,f0\n"), FIT, "nodes.csv has no rows.",
    ),
    "Parquet that was cut short": (
        truncate_parquet, ("fit", "nodes.parquet", "edges.csv"),
        "nodes.parquet is not a complete Parquet file",
    ),
    "an output that is the features": (
        overwrite("words.csv", b"node,feature,value\nn1,a,1\n"),
        ("fit", "nodes.csv", "edges.csv", "--features", "words.csv", "-o", "words.csv"),
        "words.csv is named twice",
    ),
    "two outputs in one": (
        unchanged, ("fit", "nodes.csv", "edges.csv", "-o", "p.csv", "-m", "p.csv"),
        "p.csv is named twice",
    ),
    "an output that is a folder": (
        unchanged, ("fit", "nodes.csv", "edges.csv", "-m", "."), ". is a folder or a device.",
    ),
    "an output of unknown format": (
        unchanged, ("fit", "nodes.csv", "edges.csv", "-o", "p.xlsx"),
        "p.xlsx: the name of a table must end in .csv, .tsv,",
    ),
    "a model that is not there": (
        unchanged, ("predict", "m", "nodes.csv", "edges.csv", "-o", "p.csv"),
        "m: No such file or directory.",
    ),
    "a model that is a table": (
        unchanged, ("predict", "nodes.csv", "nodes.csv", "edges.csv", "-o", "p.csv"),
        "nodes.csv is not a model file",
    ),
    "a file where a folder should be": (
        unchanged, ("datasets", "karate", "--export", "nodes.csv"),
        "--export: nodes.csv is a file. Name a folder.",
    ),
    "no folder for the plot": (
        unchanged, ("demo", "--plot", "nowhere/plot.png"), "there is no folder nowhere. Make it",
    ),
    "a plot of unknown format": (
        unchanged, ("demo", "--plot", "plot.gif"), "plot.gif: the name of a plot must end in .png",
    ),
}  # fmt: skip


# The installed command itself runs in these cases, main() in the others.
IN_A_PROCESS = ("a missing file", "labels of one class")


@pytest.mark.parametrize("case", CASES)
def test_unusable_input(case, folder, command, run):
    change, arguments, *pieces = CASES[case]
    change(folder)
    if arguments == FIT:
        arguments += WRITE
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert_error((command if case in IN_A_PROCESS else run)(*arguments), *pieces)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_byte_order_mark_is_ignored(folder, run):
    before = run(*FIT, "-o", "-")
    for name in ("nodes.csv", "edges.csv"):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    done = run(*FIT, "-o", "-")
    assert done.code == 0
    assert done.out == before.out
    assert "id: id (detected)" in run("info", "nodes.csv", "edges.csv").out


def test_a_damaged_model_is_refused(model, folder, run):
    whole = model.read_bytes()
    model.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    arguments = ("predict", "model", "nodes.csv", "edges.csv", "-o", "p.csv")
    assert_error(run(*arguments), "model is damaged or was altered", "checksum")
    model.write_bytes(whole[:-100])
    assert_error(run(*arguments), "model is incomplete")
    assert not (folder / "p.csv").exists()


def test_a_model_of_other_features_is_refused(model, folder, run):
    replace("nodes.csv", b"f1,f2", b"size,weight")(folder)
    done = run("predict", "model", "nodes.csv", "edges.csv", "-o", "p.csv")
    assert_error(done, "nodes.csv lacks features that the model was fitted with: f1, f2.")
    assert not (folder / "p.csv").exists()
