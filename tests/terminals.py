"""A pseudo-terminal that takes the standard error of a process."""

import os


class Terminal:
    """Reads what a process shows; start the process with `options`."""

    def __init__(self):
        import pty

        self._ours, self._theirs = pty.openpty()
        self._shown = ""

    @property
    def options(self):
        environment = os.environ | {"TERM": "xterm", "COLUMNS": "99"}
        return {"stderr": self._theirs, "env": environment}

    def read_until(self, text):
        """Read until `text` is shown."""
        self._close_theirs()
        while text not in self._shown:
            assert self._read_block(), f"{text!r} was never shown: {self._shown}"

    def read(self):
        """Read everything until the process closes its side."""
        self._close_theirs()
        while self._read_block():
            pass
        os.close(self._ours)
        return self._shown

    def _close_theirs(self):
        if self._theirs is not None:
            os.close(self._theirs)
            self._theirs = None

    def _read_block(self):
        try:
            block = os.read(self._ours, 4096)
        except OSError:  # how Linux reports that the other side is closed
            return False
        self._shown += block.decode(errors="replace")
        return bool(block)
