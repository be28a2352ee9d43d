"""A command in a terminal of its own: what it shows, and Ctrl-C at a moment of its output."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

CTRL_C = b"\x03"
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Shown:
    """How a command ended: its exit code, all that it wrote, and how long it ran on after Ctrl-C."""

    code: int
    text: str
    seconds: float | None


def in_terminal(
    command: Sequence[str], environment: Mapping[str, str], interrupt_at: str | None = None, limit: float = 300
) -> Shown:
    """Run a command in a terminal of 40 lines and 130 columns; press Ctrl-C as soon as a text matches."""
    child, terminal = pty.fork()
    if child == 0:
        os.execvpe(command[0], list(command), dict(environment))
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 130, 0, 0))
    written, begun, pressed, now = b"", time.monotonic(), None, 0.0
    try:
        while (now := time.monotonic()) - begun < limit:
            if select.select([terminal], [], [], 0.2)[0]:
                try:
                    written += os.read(terminal, 1 << 16)
                except OSError:  # the terminal is closed when the command ends
                    break
            if interrupt_at is not None and pressed is None and re.search(interrupt_at, plain(written)):
                os.write(terminal, CTRL_C)
                pressed = time.monotonic()
        else:
            raise TimeoutError(f"{command} still runs after {limit} s and shows:\n{plain(written)[-3000:]}")
    except BaseException:
        os.kill(child, 9)
        raise
    finally:
        _, status = os.waitpid(child, 0)
        os.close(terminal)
    return Shown(os.waitstatus_to_exitcode(status), plain(written), None if pressed is None else now - pressed)


def plain(written: bytes) -> str:
    """What was written, without colours and movements of the cursor."""
    return _COLOURS.sub("", written.decode(errors="replace")).replace("\r", "")
