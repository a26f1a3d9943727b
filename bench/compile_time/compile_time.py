"""Compiles headers and programs in turns, and prints seconds of processor time and the compiler's peak memory."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HEADERS = {
    "empty": "",
    "loader": "#include <wick/loader/loader.hpp>\n",
    "vision": "#include <wick/vision.hpp>\n",
    "text": "#include <wick/text.hpp>\n",
    "series": "#include <wick/series.hpp>\n",
    "tables": "#include <wick/tables.hpp>\n",
    "core": "#include <wick/core.hpp>\n",
    "wick": "#include <wick/wick.hpp>\n",
    "aten": "#include <ATen/core/Tensor.h>\n#include <ATen/ops/empty.h>\n",
    "torch": "#include <torch/torch.h>\n",
}


def fail(text):
    sys.exit(f"bench/compile_time: {text}")


def flags_of(root):
    """Compiler and flags of the tutorial's last program, as CMake has them."""
    build = root / "build" / "compile_time"
    command = ["cmake", "--preset", "default", "-S", root, "-B", build, "-DWICK_BUILD_TESTS=OFF", "-DCMAKE_CXX_COMPILER_LAUNCHER="]
    if subprocess.run(command, cwd=root, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        fail("CMake failed; run cmake --preset default")
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if entry["file"].endswith("examples/00_pictures.cpp"):
            words = entry.get("arguments") or entry["command"].split()
            kept, skip = [], False
            for word in words[1:]:
                if skip or word in ("-c", entry["file"]) or word.startswith(("-O", "-g")):
                    skip = False
                    continue
                if word == "-o":
                    skip = True
                    continue
                kept.append(word)
            return words[0], kept
    fail("CMake has no examples/00_pictures.cpp: LibTorch is missing")


def compile_once(command):
    """Processor seconds and peak memory in MB. Children are waited for one at a time, so that the peak is this one's."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        fail("does not compile: " + " ".join(map(str, command)))
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def code_of(path):
    """Bytes of code and constants in an object file."""
    out = subprocess.run(["size", path], capture_output=True, text=True, check=True).stdout
    return int(out.splitlines()[1].split()[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, prog="bash bench/run.sh compile_time")
    parser.add_argument("root", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=3, help="how often each is compiled (3)")
    options = parser.parse_args()
    root = options.root
    compiler, flags = flags_of(root)
    with tempfile.TemporaryDirectory() as folder:
        commands = {}
        for name, text in HEADERS.items():
            source = Path(folder) / f"{name}.cpp"
            source.write_text(text, encoding="utf-8")
            commands[name] = [compiler, *flags, "-O0", "-fsyntax-only", source]
        out = Path(folder) / "out.o"
        commands["program"] = [compiler, *flags, "-O2", "-c", root / "examples/00_pictures.cpp", "-o", out]
        one = root / "bench/compile_time/program/one_loader.cpp"
        commands["one_loader"] = [compiler, *flags, "-O2", "-c", one, "-o", Path(folder) / "one.o"]
        commands["two_loaders"] = [compiler, *flags, "-O2", "-DTWO", "-c", one, "-o", Path(folder) / "two.o"]
        commands["torch_data_program"] = [compiler, *flags, "-O2", "-c", root / "bench/compile_time/program/with_torch_data.cpp", "-o", out]
        took = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                took[name].append(compile_once(command))
        code = {name: code_of(Path(folder) / f"{name}.o") for name in ("one", "two")}
    seconds = {name: statistics.median(s for s, _ in all) for name, all in took.items()}
    memory = {name: statistics.median(m for _, m in all) for name, all in took.items()}
    print(f"{'compiled':24} {'seconds':>8} {'MB':>7}")
    for name in commands:
        print(f"{name:24} {seconds[name]:8.2f} {memory[name]:7.0f}")
    print(f"one more loader: {seconds['two_loaders'] - seconds['one_loader']:.2f} s, {code['two'] - code['one']} bytes")
    print(
        "RESULT compile_time "
        + " ".join(f"{name}_s={seconds[name]:.2f}" for name in commands)
        + f" one_more_loader_s={seconds['two_loaders'] - seconds['one_loader']:.2f} one_more_loader_bytes={code['two'] - code['one']}"
        + f" core_to_torch={seconds['core'] / seconds['torch']:.3f} vision_to_torch={seconds['vision'] / seconds['torch']:.3f}"
        + f" wick_beyond_aten_to_torch={(seconds['wick'] - seconds['aten']) / seconds['torch']:.3f}"
        + f" program_to_torch_data={seconds['program'] / seconds['torch_data_program']:.3f} rounds={options.rounds}"
    )


if __name__ == "__main__":
    main()
