#!/usr/bin/env python3
"""Fails when an object file has code that runs before main, and names it.

initializers.py NM OBJDUMP OBJECT
"""

import re
import subprocess
import sys


def lines_of(*command: str) -> list:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def main() -> int:
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    nm, objdump, path = sys.argv[1:]
    symbols = lines_of(nm, "-C", path)
    found = [line for line in symbols if re.search(r"_GLOBAL__(sub_)?[ID]|global constructors|__cxx_global_var_init", line)]
    found += [line for line in lines_of(objdump, "-h", path) if re.search(r"\s\.(init_array|ctors|preinit_array)\b", line)]
    for line in found:
        print(line.strip())
    print(f"{path}: {len(symbols)} symbols, {len(found)} signs of code that runs before main")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
