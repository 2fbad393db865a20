import os
import signal
import subprocess
import sys
import time

import pytest
from processes import start

from heatgraph._io import atomic_files, file_lock
from heatgraph._io.atomic_files import atomic_write
from heatgraph.errors import InputError


def write(path, content):
    with atomic_write(path) as file:
        file.write(content)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    return path


def test_the_new_file_replaces_the_old(path):
    write(path, b"new")
    assert path.read_bytes() == b"new"
    assert os.listdir(path.parent) == [path.name]


def test_the_old_file_is_there_until_the_new_one_is_complete(path):
    with atomic_write(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
def test_an_error_while_writing_leaves_the_old_file(path, error):
    def fail():
        with atomic_write(path) as file:
            file.write(b"half")
            raise error

    with pytest.raises(type(error)):
        fail()
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_an_error_of_the_system_leaves_the_old_file(path, monkeypatch, call):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(atomic_files.os, call, fail)
    with pytest.raises(OSError, match="disk full"):
        write(path, b"new")
    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.signals
@pytest.mark.skipif(os.name != "posix", reason="SIGKILL exists on POSIX only")
@pytest.mark.parametrize("delay", [0.02, 0.05, 0.11])
def test_a_killed_process_leaves_a_complete_file(path, delay):
    code = (
        "import sys\n"
        "from heatgraph._io.atomic_files import atomic_write\n"
        "for number in range(10**9):\n"
        "    with atomic_write(sys.argv[1]) as file:\n"
        "        for _ in range(100):\n"
        "            file.write(bytes([number % 256]) * 10_000)\n"
        "    if number == 0: print('ready', flush=True)\n"
    )
    with start([sys.executable, "-c", code, path], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
    content = path.read_bytes()
    assert len(content) == 1_000_000
    assert len(set(content)) == 1


class TestAbandonedFiles:
    """Temporary files of killed processes."""

    def abandoned(self, folder):
        """Make a temporary file that no process has open."""
        file, temporary = atomic_files._locked_temporary_file(folder)
        file.close()
        return temporary

    @pytest.mark.signals
    @pytest.mark.skipif(os.name != "posix", reason="SIGKILL exists on POSIX only")
    def test_the_next_writer_deletes_them(self, path):
        code = (
            "import sys\n"
            "from heatgraph._io.atomic_files import atomic_write\n"
            "with atomic_write(sys.argv[1]) as file:\n"
            "    print('ready', flush=True)\n"
            "    input()\n"
        )
        options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        with start([sys.executable, "-c", code, path], **options) as process:
            process.stdout.readline()
            write(path.with_name("other"), b"")  # the process lives, so its file stays
            assert len(os.listdir(path.parent)) == 3
            process.send_signal(signal.SIGKILL)
        assert len(os.listdir(path.parent)) == 3
        write(path.with_name("other"), b"new")
        assert sorted(os.listdir(path.parent)) == ["file", "other"]

    def test_a_file_in_use_stays(self, path):
        with atomic_write(path) as file:
            file.write(b"outer")
            write(path.with_name("other"), b"inner")
        assert path.read_bytes() == b"outer"
        assert sorted(os.listdir(path.parent)) == ["file", "other"]

    @pytest.mark.parametrize(
        "name", [".x.part", ".0123456789abcdef.part", "x", ".heatgraph-x.part"]
    )
    def test_files_of_others_stay(self, path, name):
        path.with_name(name).write_bytes(b"theirs")
        write(path, b"new")
        assert path.with_name(name).read_bytes() == b"theirs"

    def test_files_of_other_hosts_stay(self, path, monkeypatch):
        """Their locks may not be seen here."""
        with monkeypatch.context() as patch:
            patch.setattr(atomic_files, "_PREFIX", ".heatgraph-00000000-")
            temporary = self.abandoned(path.parent)
        write(path, b"new")
        assert temporary.exists()

    def test_without_locks_they_stay(self, path, monkeypatch):
        def refuse(descriptor):
            raise OSError(37, "No locks available")

        temporary = self.abandoned(path.parent)
        monkeypatch.setattr(file_lock, "_lock", refuse)
        write(path, b"new")
        assert path.read_bytes() == b"new"
        assert temporary.exists()

    @pytest.mark.parametrize("moment", ["before", "during"])
    def test_a_file_deleted_by_another_before_it_is_locked(self, path, monkeypatch, moment):
        calls = []

        def another_is_faster(file):
            calls.append(file)
            if len(calls) == 1 and moment == "before":
                atomic_files._delete_if_abandoned(next(path.parent.glob(".*.part")))
            if len(calls) == 2 and moment == "before":
                return True  # the other's own lock, which takes the same way
            if len(calls) == 1 and moment == "during":
                return False
            return file_lock.try_lock(file)

        monkeypatch.setattr(atomic_files, "try_lock", another_is_faster)
        write(path, b"new")
        assert path.read_bytes() == b"new"
        assert len(calls) > 1

    @pytest.mark.slow
    def test_many_writers_in_one_folder(self, tmp_path):
        code = (
            "import sys\n"
            "from heatgraph._io.atomic_files import atomic_write\n"
            "for _ in range(300):\n"
            "    with atomic_write(sys.argv[1]) as file:\n"
            "        file.write(sys.argv[1].encode())\n"
        )
        paths = [tmp_path / name for name in "aabb"]
        processes = [subprocess.Popen([sys.executable, "-c", code, path]) for path in paths]
        assert [process.wait() for process in processes] == [0] * 4
        assert {path: path.read_text() for path in paths} == {path: str(path) for path in paths}
        assert len(os.listdir(tmp_path)) == 2


def test_targets_that_are_no_files(tmp_path):
    with pytest.raises(InputError, match="there is no folder .*nowhere. Make it first"):
        write(tmp_path / "nowhere" / "x", b"")
    with pytest.raises(InputError, match="is a folder or a device. Name a file"):
        write(tmp_path, b"")


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_permissions_are_kept(path):
    path.chmod(0o640)
    write(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_new_file_has_the_usual_permissions(tmp_path):
    write(tmp_path / "atomic", b"")
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "atomic").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(os.name != "posix", reason="symbolic links need rights on Windows")
def test_a_symbolic_link_stays_and_its_target_is_replaced(path):
    link = path.with_name("link")
    link.symlink_to(path)
    write(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
def test_links_in_a_circle_are_refused(tmp_path):
    os.symlink("loop", tmp_path / "loop")
    with (
        pytest.raises(InputError, match="its symbolic links lead in a circle. Name the file"),
        atomic_write(tmp_path / "loop"),
    ):
        pass
    assert os.listdir(tmp_path) == ["loop"]
