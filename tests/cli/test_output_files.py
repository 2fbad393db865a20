"""Output files: checked first, written whole or not at all."""

import os

import pytest
from table_files import assert_error

FIT = ("fit", "nodes.csv", "edges.csv", "--T", "2", "--weight-decay", "1e-3")


@pytest.mark.skipif(os.name == "nt", reason="Windows cannot limit the size of files")
def test_a_full_disk_leaves_the_old_file_intact(model, folder, run, command):
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
        assert_error(done, f"{name}: File too large. No file was left incomplete.")
        assert (folder / name).read_bytes() == old
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
def test_a_full_disk_behind_standard_output_is_an_error(start):
    with open("/dev/full", "w") as full:
        process = start("version", "--json", stdout=full)
        _, message = process.communicate()
    assert process.returncode == 1
    assert message == b"heatgraph: No space left on device.\n"


@pytest.mark.parametrize("output", ["p.csv", "p.parquet", "-"])
def test_write_errors_name_the_file(output, folder, run, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("heatgraph.tables.writing.write_table", full)
    done = run(*FIT, "-o", output, "-q")
    expected = "standard output: No space left on device."
    if output != "-":
        expected = f"{output}: No space left on device. No file was left incomplete."
    assert (done.code, done.out, done.err) == (1, "", f"heatgraph: {expected}\n")


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


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("info", "loop", "edges.csv"), 1),
        (("info", "loop"), 2),
        (("fit", "nodes.csv", "loop"), 1),
        (("predict", "loop", "nodes.csv", "edges.csv", "-o", "p.csv"), 1),
        (("predict", "model", "nodes.csv", "edges.csv", "-o", "loop"), 1),
        ((*FIT, "-m", "loop"), 1),
        (("compare", "nodes.csv", "edges.csv", "-o", "loop"), 1),
    ],
)
def test_links_in_a_circle_are_told_in_words(model, folder, run, arguments, code):
    os.symlink("loop", folder / "other")
    os.symlink("other", folder / "loop")
    done = run(*arguments)
    assert done.code == code
    assert "loop" in done.err
    assert "symbolic link" in done.err
    assert (folder / "loop").is_symlink()
