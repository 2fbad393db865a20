import os
import signal
import subprocess
import sys
import threading

import pytest
from processes import start

from heatgraph._io import file_lock
from heatgraph._io.file_lock import FileLock
from heatgraph.errors import FileInUseError, UnlockedFileWarning

HOLD = """
import os, sys
from pathlib import Path
from heatgraph._io.file_lock import FileLock
lock = FileLock(Path(sys.argv[1]), Path("target"))
{then}
print("ready", flush=True)
input()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "folder" / "lock"


def hold(path, then=""):
    """Start a process that takes a lock and waits; return it once it has the lock."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = start([sys.executable, "-c", HOLD.format(then=then), path], **options)
    process.stdout.readline()
    return process


def test_one_owner_at_a_time_and_no_file_after_it(path):
    with FileLock(path, "X.npy"):
        words = f"X.npy is being written by process {os.getpid()} on .*name another file"
        with pytest.raises(FileInUseError, match=words):
            FileLock(path, "X.npy")
        assert path.exists()
    assert not path.exists()
    FileLock(path, "X.npy").release()


def test_releasing_twice_does_not_end_the_lock_of_the_next_owner(path):
    first = FileLock(path, "X.npy")
    first.release()
    with FileLock(path, "X.npy"):
        first.release()
        with pytest.raises(FileInUseError):
            FileLock(path, "X.npy")


def test_an_error_ends_the_lock(path):
    def fail():
        with FileLock(path, "X.npy"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    FileLock(path, "X.npy").release()


def test_waiting_for_the_owner(path):
    owner = FileLock(path, "X.npy")
    timer = threading.Timer(0.1, owner.release)
    timer.start()
    with FileLock(path, "X.npy", timeout=60):
        assert path.exists()
    timer.join()


def test_a_missing_folder_of_the_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        FileLock(tmp_path / "nowhere" / "folder" / "lock", "X.npy", timeout=60)


def test_a_file_where_the_folder_should_be(path):
    path.parent.write_text("")
    with pytest.raises(FileExistsError):
        FileLock(path, "X.npy", timeout=60)


@pytest.mark.parametrize("moment", ["made", "found", "opened"])
def test_an_owner_that_deletes_file_and_folder_while_another_opens_them(path, monkeypatch, moment):
    """The lock is taken on the file that is there, not on a deleted one."""
    owner, deleted = FileLock(path, "X.npy"), []
    mkdir, try_lock = type(path).mkdir, file_lock.try_lock

    def delete():
        if not deleted:
            owner.release()
            path.parent.rmdir()
            deleted.append(True)
            return True
        return False

    def make_folder(folder, **options):
        mkdir(folder, **options)
        if moment == "made":
            delete()
        elif moment == "found" and delete():
            raise FileExistsError  # of mkdir, if the folder is gone before it looks again

    def lock_file(file):
        if moment == "opened":
            delete()
        return try_lock(file)

    monkeypatch.setattr(type(path), "mkdir", make_folder)
    monkeypatch.setattr(file_lock, "try_lock", lock_file)
    with FileLock(path, "X.npy"):
        assert deleted
        with pytest.raises(FileInUseError):
            FileLock(path, "X.npy")


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.signals
class TestDeath:
    def test_a_killed_owner_has_no_lock(self, path):
        with hold(path) as process:
            with pytest.raises(FileInUseError, match=f"process {process.pid} on"):
                FileLock(path, "X.npy")
            process.send_signal(signal.SIGKILL)
        assert path.exists()
        FileLock(path, "X.npy").release()
        assert not path.exists()

    def test_a_forked_child_does_not_keep_the_lock(self, path):
        """Nor does it end the lock of its parent by releasing its copy."""
        child = "lock.release(); print('child', flush=True); sys.stdin.read(); os._exit(0)"
        with hold(path, f"if os.fork() == 0: {child}") as process:
            process.stdout.readline()  # of parent and child, one line each
            with pytest.raises(FileInUseError):
                FileLock(path, "X.npy")
            process.send_signal(signal.SIGKILL)
            process.wait()
            FileLock(path, "X.npy").release()  # the child lives until its standard input closes


def test_processes_take_turns(path, tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from heatgraph._io.file_lock import FileLock\n"
        "counter = Path(sys.argv[2])\n"
        "for _ in range(50):\n"
        "    with FileLock(Path(sys.argv[1]), counter, timeout=120):\n"
        "        counter.write_text(str(int(counter.read_text()) + 1))\n"
        "    try: Path(sys.argv[1]).parent.rmdir()\n"
        "    except OSError: pass\n"
    )
    processes = [subprocess.Popen([sys.executable, "-c", code, path, counter]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert int(counter.read_text()) == 4 * 50


def test_a_file_system_without_locks(path, monkeypatch):
    def refuse(descriptor):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(file_lock, "_lock", refuse)
    with (
        pytest.warns(UnlockedFileWarning, match=r"no locks \(No locks available\). Make sure"),
        FileLock(path, "X.npy"),
    ):
        assert path.exists()
    assert not path.exists()
