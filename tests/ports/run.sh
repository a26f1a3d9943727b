#!/usr/bin/env bash
# Two public LibTorch programs, mnist and dcgan of pytorch/examples, with wick in place of torch::data.
#
#   bash tests/ports/run.sh
#
# mnist.ed and dcgan.ed are the ports, as scripts of ed. Each program prints the losses of the one before its port, until float
# differences grow: mnist in an epoch and its test, dcgan in 30 batches. For that, both are seeded and read in file order.
# WICK_TORCH_EXAMPLES names a checkout of pytorch/examples; without it, one is cloned into build/ports.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/install_deps.sh
source tests/parts.sh

[[ ${1:-} != -h && ${1:-} != --help ]] || { wick_usage "${BASH_SOURCE[0]}" && exit; }
(($# == 0)) || wick_die "tests/ports/run.sh: takes no arguments, found $1"
wick_require build jpeg png torch data ed

here=$wick_root/build/ports
examples=${WICK_TORCH_EXAMPLES:-$here/examples}
if [[ ! -d $examples ]] && ! git clone --quiet --no-checkout https://github.com/pytorch/examples "$examples" 2>/dev/null; then
  wick_say "skipped: ports: pytorch/examples can't be cloned here; set WICK_TORCH_EXAMPLES to a checkout"
  exit
fi
mkdir -p "$here/programs/data"
cd "$here/programs"

commit=77f55b912142e11fcfdf5b530231fb9c52f181e8  # its lines are those that the scripts name
for program in mnist dcgan; do
  git -C "$examples" show "$commit:cpp/$program/$program.cpp" >"$program.cpp" || wick_die "ports: $examples has no commit $commit"
  cp "$program.cpp" "${program}_before.cpp"
  (cat "$wick_root/tests/ports/$program.ed" && echo wq) | ed -s "$program.cpp"
done
# Debian has no argparse; the port does without.
(sed -n '/^95,108c/,$p' "$wick_root/tests/ports/dcgan.ed" && echo wq) | ed -s dcgan_before.cpp
# A random sampler of torch::data draws of Torch's random numbers.
sed -i '/torch::optim::SGD optimizer(/i torch::manual_seed(1);' mnist.cpp mnist_before.cpp
sed -i 's/make_data_loader(/make_data_loader<data::samplers::SequentialSampler>(/' dcgan_before.cpp
sed -i 's/ | wick::shuffle()//' dcgan.cpp
for file in /usr/share/datasets/fashion-mnist/*.gz; do
  gunzip -c "$file" >"data/$(basename "$file" .gz)"
done

wick_step ports-configure cmake -S "$wick_root/tests/ports" -B "$here/build" -G Ninja -D CMAKE_BUILD_TYPE=Release \
  -D WICK_SOURCE="$wick_root" -D PROGRAMS="$PWD" -D WICK_BUILD_TESTS=OFF -D WICK_BUILD_EXAMPLES=OFF -D WICK_ARROW=OFF
wick_step ports-build cmake --build "$here/build" --parallel "$wick_jobs" --target mnist_before mnist dcgan_before dcgan

losses() {  # losses PROGRAM N: the first N lines with losses that it prints; the pipe then ends it
  (timeout 600 stdbuf -oL "$here/build/$1" | stdbuf -oL tr '\r' '\n' | grep -m "$2" -i 'loss' >"$1.log") || true
}
compare() {  # compare PROGRAM N MOST: how far off the first ten of them may be
  losses "${1}_before" "$2"
  losses "$1" "$2"
  python3 - "$@" <<'END'
import re
import sys

program, lines, most = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
number = re.compile(r"\d+\.\d+")
before, after = (open(f"{name}.log").read().splitlines() for name in (f"{program}_before", program))
if len(before) != lines or [number.sub("x", line) for line in before] != [number.sub("x", line) for line in after]:
    sys.exit(f"ports: {program} printed {len(after)} lines with losses, before its port {len(before)} of {lines}, or other lines")
off = [max(abs(float(b) - float(a)) for b, a in zip(number.findall(x), number.findall(y))) for x, y in zip(before, after)]
print(f"ports: {program}: off by {max(off[:10]):.4f} at most in the first 10 lines, by {max(off):.4f} in all {lines}")
sys.exit(max(off[:10]) > most or max(off) > 0.1)
END
}
compare mnist 95 0.001  # with the line of its test
compare dcgan 3 0.05    # Adam divides small gradients by their size: floats part sooner
wick_say "ports: passed"
