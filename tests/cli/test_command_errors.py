"""Everything that can be wrong with the input, as the installed command tells it."""

import os
import shutil

import pyarrow as pa
import pyarrow.parquet
import pytest

FIT = ("fit", "nodes.csv", "edges.csv", "--T", "2", "--weight-decay", "1e-3")
WRITE = ("-o", "p.csv", "-m", "fresh")


def replaced(name, old, new):
    def change(folder):
        content = (folder / name).read_bytes()
        assert old in content
        (folder / name).write_bytes(content.replace(old, new, 1))

    return change


def added(name, *lines):
    def change(folder):
        with (folder / name).open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)

    return change


def content(name, value):
    return lambda folder: (folder / name).write_bytes(value)


def without_line(name, number):
    def change(folder):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        lines[number - 1] = lines[number - 1].rsplit(",", 2)[0]
        (folder / name).write_text("\n".join(lines), encoding="utf-8")

    return change


def with_cell(name, number, column, value):
    def change(folder):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()
        cells = lines[number - 1].split(",")
        cells[column] = value
        lines[number - 1] = ",".join(cells)
        (folder / name).write_text("\n".join(lines), encoding="utf-8")

    return change


def in_one_class(folder):
    text = (folder / "nodes.csv").read_text(encoding="utf-8")
    for colour in ("green", "blue"):
        text = text.replace(f",{colour},", ",,")
    (folder / "nodes.csv").write_text(text, encoding="utf-8")


def cut_parquet(folder):
    table = pa.table({"id": [f"n{at}" for at in range(100)]})
    pa.parquet.write_table(table, folder / "nodes.parquet")
    with (folder / "nodes.parquet").open("r+b") as file:
        file.truncate(200)


def nothing(folder):
    pass


GHOSTS = added("edges.csv", "n0,ghost1", "ghost2,n1", "n2,ghost3", "n3,ghost4", "n4,ghost4")

# Name: what is done to the tables, the command line, and pieces of what must be said.
CASES = {
    "a missing file": (
        lambda folder: (folder / "nodes.csv").rename(folder / "node.csv"), FIT,
        "nodes.csv: there is no such file; there is node.csv.",
    ),
    "a wrong column": (
        nothing, (*FIT, "--label", "lable"),
        "nodes.csv has no column 'lable'. Did you mean 'label'? It has id, label, f0",
    ),
    "ids that no node has": (
        GHOSTS, FIT,
        "'ghost1' in column 'target' is no id of nodes.csv. 4 unknown ids ('ghost",
        ", ...) in 5 rows: add these nodes, or drop these rows.",
    ),
    "a short row": (
        without_line("nodes.csv", 42), FIT, "nodes.csv, line 42 has 6 of 8 columns: 'n40,",
    ),
    "bytes that are not UTF-8": (
        replaced("nodes.csv", b"n40,", b"n40\xff,"), FIT,
        "nodes.csv, line 42: byte 0xFF at position 4 is not UTF-8. Save the file as UTF-8.",
    ),
    "a NUL byte": (
        replaced("edges.csv", b"n5,n8", b"n5,\0n8"), FIT, "edges.csv, line ", "NUL byte",
    ),
    "a feature that is NaN": (
        with_cell("nodes.csv", 12, 3, "nan"), FIT, "nodes.csv, line 12", "'f1'",
    ),
    "labels of one class": (in_one_class, FIT, "class", "'red'"),
    "an empty file": (
        content("edges.csv", b""), FIT,
        "edges.csv is empty. Expected a line with the names of the columns",
    ),
    "Parquet that is not Parquet": (
        lambda folder: (folder / "nodes.csv").rename(folder / "nodes.parquet"),
        ("fit", "nodes.parquet", "edges.csv"),
        "nodes.parquet is not a Parquet file: it starts with b'id,l', and Parquet with b'PAR1'.",
    ),
    "no folder for the output": (
        nothing, ("fit", "nodes.csv", "edges.csv", "-o", "nowhere/p.csv"),
        "p.csv: there is no folder nowhere. Make it first.",
    ),
    "an output that is the nodes": (
        nothing, ("fit", "nodes.csv", "edges.csv", "-o", "./nodes.csv"),
        "nodes.csv is named twice, and would be overwritten. Name another file.",
    ),
    "too little memory": (
        nothing, (*FIT, "--memory", "1KB"), "nodes.csv", "memory budget", "Raise the budget",
    ),
}  # fmt: skip
# More of the same, for which no process is started.
MORE_CASES = {
    "a missing folder": (
        nothing, ("fit", "nowhere/nodes.csv", "edges.csv"),
        "nodes.csv: there is no such file, and no folder nowhere.",
    ),
    "a folder": (nothing, ("fit", ".", "edges.csv"), ". is a folder. Name a file."),
    "no column of labels": (
        replaced("nodes.csv", b"label", b"remark"), FIT,
        "no column of nodes.csv was found or named for them. Name it with --label", "--label",
    ),
    "a feature that is blank": (
        with_cell("nodes.csv", 12, 3, ""), FIT, "nodes.csv, line 12", "'f1'",
    ),
    "a file with a header only": (
        content("nodes.csv", b"id,label,f0\n"), FIT, "nodes.csv has no rows.",
    ),
    "Parquet that was cut short": (
        cut_parquet, ("fit", "nodes.parquet", "edges.csv"),
        "nodes.parquet is not a whole Parquet file",
    ),
    "an output that is the features": (
        content("words.csv", b"node,feature,value\nn1,a,1\n"),
        ("fit", "nodes.csv", "edges.csv", "--features", "words.csv", "-o", "words.csv"),
        "words.csv is named twice",
    ),
    "two outputs in one": (
        nothing, ("fit", "nodes.csv", "edges.csv", "-o", "p.csv", "-m", "p.csv"),
        "p.csv is named twice",
    ),
    "an output that is a folder": (
        nothing, ("fit", "nodes.csv", "edges.csv", "-m", "."), ". is a folder or a device.",
    ),
    "an output of unknown form": (
        nothing, ("fit", "nodes.csv", "edges.csv", "-o", "p.xlsx"),
        "p.xlsx: the name of a table must end in .csv, .tsv,",
    ),
    "a model that is not there": (
        nothing, ("predict", "m", "nodes.csv", "edges.csv", "-o", "p.csv"),
        "m: No such file or directory.",
    ),
    "a model that is a table": (
        nothing, ("predict", "nodes.csv", "nodes.csv", "edges.csv", "-o", "p.csv"),
        "nodes.csv is not a model file",
    ),
    "an unknown data set": (nothing, ("datasets", "coral"), "citeseer, cora, ", "Got 'coral'."),
    "a file where a folder should be": (
        nothing, ("datasets", "karate", "--export", "nodes.csv"),
        "--export: nodes.csv is a file. Name a folder.",
    ),
    "no folder for the plot": (
        nothing, ("demo", "--plot", "nowhere/plot.png"), "there is no folder nowhere. Make it",
    ),
    "a plot of unknown form": (
        nothing, ("demo", "--plot", "plot.gif"), "plot.gif: the name of a plot must end in .png",
    ),
}  # fmt: skip


def is_an_error(done, *pieces):
    assert done.code == 1, done
    assert 1 <= len(done.err.splitlines()) <= 2, done.err
    assert done.err.startswith("heatgraph: ")
    assert "Traceback" not in done.err + done.out
    for piece in pieces:
        assert piece in done.err


@pytest.mark.parametrize("case", [*CASES, *MORE_CASES])
def test_what_is_wrong_is_said_and_nothing_is_written(case, folder, command, run):
    change, arguments, *pieces = (CASES | MORE_CASES)[case]
    change(folder)
    if arguments == FIT:
        arguments += WRITE
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    is_an_error((command if case in CASES else run)(*arguments), *pieces)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_a_byte_order_mark_is_no_fault(folder, command, run):
    before = run(*FIT, "-o", "-")
    for name in ("nodes.csv", "edges.csv"):
        (folder / name).write_bytes(b"\xef\xbb\xbf" + (folder / name).read_bytes())
    done = run(*FIT, "-o", "-")
    assert done.code == 0
    assert done.out == before.out
    assert "id: id (guessed)" in command("info", "nodes.csv", "edges.csv").out


def test_debug_shows_where_an_error_comes_from(folder, command):
    done = command(*FIT, "--label", "lable", "--debug")
    assert done.code == 1
    assert done.err.startswith("Traceback")
    assert "roles.py" in done.err
    assert done.err.splitlines()[-1].startswith("heatgraph: nodes.csv has no column 'lable'.")


def test_a_damaged_model_is_refused(model, folder, command, run):
    whole = model.read_bytes()
    model.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    arguments = ("predict", "model", "nodes.csv", "edges.csv", "-o", "p.csv")
    is_an_error(command(*arguments), "model is damaged or was altered", "checksum")
    model.write_bytes(whole[:-100])
    is_an_error(run(*arguments), "model is incomplete")
    assert not (folder / "p.csv").exists()


def test_a_model_of_other_features_is_refused(model, folder, command):
    replaced("nodes.csv", b"f1,f2", b"size,weight")(folder)
    done = command("predict", "model", "nodes.csv", "edges.csv", "-o", "p.csv")
    is_an_error(done, "nodes.csv lacks features that the model was fitted with: f1, f2.")
    assert not (folder / "p.csv").exists()


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot limit the size of files")
def test_a_full_disk_leaves_the_old_output_alone(model, folder, run, command):
    import resource

    arguments = ("predict", "model", "nodes.csv", "edges.csv", "-q", "-o")
    run(*arguments, "warm.csv")  # so that nothing is compiled, and stored, below
    before = sorted(path.name for path in folder.iterdir())

    def full():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    for name, line in {
        "warm.csv": (*arguments, "warm.csv"),
        "model": (*FIT, "-m", "model"),
    }.items():
        old = (folder / name).read_bytes()
        done = command(*line, preexec_fn=full)
        is_an_error(done, f"{name}: File too large. Nothing was left half written.")
        assert (folder / name).read_bytes() == old
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_behind_standard_output_is_an_error(start):
    with open("/dev/full", "w") as full:
        process = start("version", "--json", stdout=full)
        _, said = process.communicate()
    assert process.returncode == 1
    assert said == b"heatgraph: No space left on device.\n"


@pytest.mark.parametrize("output", ["p.csv", "p.parquet", "-"])
def test_what_cannot_be_written_is_named(output, folder, run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("heatgraph.tables.writing.write_table", full)
    done = run(*FIT, "-o", output, "-q")
    kept = "standard output: No space left on device."
    if output != "-":
        kept = f"{output}: No space left on device. Nothing was left half written."
    assert (done.code, done.out, done.err) == (1, "", f"heatgraph: {kept}\n")


def test_an_error_of_our_own_asks_for_a_report(folder, run, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("by nought")

    monkeypatch.setattr("heatgraph.tables.graphs.read_tables", broken)
    done = run(*FIT)
    assert done.code == 70
    assert done.err == (
        "heatgraph: an error of heatgraph's own, ZeroDivisionError: by nought. Run the command "
        "again with --debug and report what it prints.\n"
    )
    done = run(*FIT, "--debug")
    assert done.code == 70
    assert done.err.startswith("Traceback")


def test_too_little_memory_in_the_machine_is_said(folder, run, monkeypatch):
    def greedy(*_):
        raise MemoryError

    monkeypatch.setattr("heatgraph.tables.graphs.read_tables", greedy)
    done = run(*FIT)
    assert done.code == 1
    assert done.err.startswith("heatgraph: there is not enough memory.")


# Name: the command line, and what must be said about it.
WRONG_USE = {
    "no edges": (("fit", "nodes.csv"), "Missing argument 'EDGES'"),
    "an unknown command": (("fti",), "No such command 'fti'."),
    "an unknown option": (("fit", "nodes.csv", "edges.csv", "--labl", "y"), "--label"),
    "T that is no number": ((*FIT, "--T", "long"), "--T must be a number >= 0"),
    "T that is negative": ((*FIT, "--T", "-1"), "--T must be a number >= 0"),
    "an empty candidate": ((*FIT, "--T", "1,,2"), "--T must be a number >= 0"),
    "weight decay that is NaN": ((*FIT, "--weight-decay", "nan"), "--weight-decay must be"),
    "a negative K": ((*FIT, "--K", "-1"), "--K"),
    "an unknown scheme": ((*FIT, "--scheme", "rk45"), "--scheme"),
    "an unknown scaling": ((*FIT, "--feature-scaling", "zscore"), "--feature-scaling"),
    "a negative seed": ((*FIT, "--seed", "-1"), "--seed"),
    "no threads": ((*FIT, "--threads", "0"), "--threads"),
    "memory that is no size": ((*FIT, "--memory", "lots"), "--memory must be a size such as 4GB"),
    "a model to standard output": ((*FIT, "-m", "-"), "--model must name a file"),
    "predict without output": (("predict", "m", "nodes.csv", "edges.csv"), "--output"),
    "nothing to tune": (("tune", *FIT[1:]), "there is nothing to try"),
    "nothing to plot": (
        ("tune", "nodes.csv", "edges.csv", "--T", "1", "--plot", "p.png"),
        "there is nothing to plot",
    ),
    "export of nothing": (("datasets", "--export", "there"), "--export needs the name"),
}


@pytest.mark.parametrize("case", WRONG_USE)
def test_wrong_use_is_told_with_a_hint_at_the_help(case, folder, run):
    arguments, piece = WRONG_USE[case]
    before = sorted(folder.iterdir())
    done = run(*arguments)
    assert done.code == 2
    assert done.out == ""
    assert done.err.startswith("Usage: heatgraph")
    assert "-h' for help" in done.err
    assert piece in " ".join(done.err.split())
    assert sorted(folder.iterdir()) == before


def test_without_a_command_there_is_help(run):
    done = run()
    assert done.code in (0, 2)  # versions of typer differ
    assert "Commands" in done.out + done.err


def test_a_link_to_an_input_is_an_input(folder, run):
    try:
        (folder / "link.csv").symlink_to(folder / "nodes.csv")
    except OSError:
        pytest.skip("this system does not let us make links")
    before = (folder / "nodes.csv").read_bytes()
    done = run(*FIT, "-o", "link.csv")
    assert done.code == 1
    assert "link.csv is named twice" in done.err
    assert (folder / "nodes.csv").read_bytes() == before


def test_features_of_a_model_may_come_in_a_table_of_their_own(model, folder, run):
    done = run("predict", "model", "nodes.csv", "edges.csv", "-o", "p.csv", "--features", "no.csv")
    assert done.code == 1
    assert "no.csv: there is no such file" in done.err
    shutil.copy("nodes.csv", "no.csv")
    done = run("predict", "model", "nodes.csv", "edges.csv", "-o", "no.csv", "--features", "no.csv")
    assert "no.csv is named twice" in done.err
