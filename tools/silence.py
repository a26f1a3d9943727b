#!/usr/bin/env python3
"""How long a command says nothing: silence.py COMMAND…

Runs it on a terminal of its own (80 columns), passes its output on, and prints at the end how long it took, the longest
time without a byte of output, and the line that stood there meanwhile.
"""

import os
import pty
import re
import select
import sys
import time


def main():
    if len(sys.argv) < 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        return 2
    child, terminal = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm", COLUMNS="80")
        os.environ.pop("CI", None)
        os.execvp(sys.argv[1], sys.argv[1:])
    begun = last = time.monotonic()
    longest, stood, text = 0.0, "", b""
    while True:
        select.select([terminal], [], [], 1)
        try:
            data = os.read(terminal, 65536)
        except OSError:  # the terminal was closed
            break
        if not data:
            break
        now = time.monotonic()
        if now - last > longest:
            longest, stood = now - last, re.split(rb"[\r\n]+", text.rstrip(b"\r\n"))[-1]
        last = now
        text = (text + data)[-1000:]
        os.write(1, data)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"\nsilence: {time.monotonic() - begun:.0f} s in all, exit code {status}; at most {longest:.1f} s without a word, after {stood.decode(errors='replace')!r}")
    return status


if __name__ == "__main__":
    sys.exit(main())
