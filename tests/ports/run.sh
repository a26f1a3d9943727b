#!/usr/bin/env bash
# Two public LibTorch programs, mnist and dcgan of pytorch/examples, with wick in place of torch::data.
#
#   bash tests/ports/run.sh
#
# mnist.ed and dcgan.ed are the ports, as scripts of ed: `patch -e` carries them out. In its first epoch mnist prints the
# losses of the program before the port, until float differences grow; dcgan trains on 100 batches, whose losses are numbers.
# WICK_TORCH_EXAMPLES names a checkout of pytorch/examples; without it, one is cloned into build/ports.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/install_deps.sh
source tests/parts.sh

[[ ${1:-} != -h && ${1:-} != --help ]] || { wick_usage "${BASH_SOURCE[0]}" && exit; }
(($# == 0)) || wick_die "tests/ports/run.sh: takes no arguments, found $1"

here=$wick_root/build/ports
commit=77f55b912142e11fcfdf5b530231fb9c52f181e8  # the lines that the scripts name are this commit's
examples=${WICK_TORCH_EXAMPLES:-$here/examples}
mkdir -p "$here/programs/data"
if [[ ! -d $examples ]] && ! git clone --quiet --no-checkout https://github.com/pytorch/examples "$examples" 2>/dev/null; then
  wick_say "skipped: ports: pytorch/examples can't be cloned here; set WICK_TORCH_EXAMPLES to a checkout"
  exit
fi
wick_require build jpeg png torch data
for program in mnist dcgan; do
  git -C "$examples" show "$commit:cpp/$program/$program.cpp" >"$here/programs/$program.cpp" ||
    wick_die "ports: $examples has no commit $commit"
done
cp "$here/programs/mnist.cpp" "$here/programs/mnist_before.cpp"
for program in mnist dcgan; do
  patch --quiet -e "$here/programs/$program.cpp" "tests/ports/$program.ed"
done
# The sampler of torch::data's test loader draws of Torch's random numbers before the training does.
sed -i '/torch::optim::SGD optimizer(/i torch::manual_seed(1);' "$here"/programs/mnist*.cpp
for file in /usr/share/datasets/fashion-mnist/*.gz; do
  gunzip -c "$file" >"$here/programs/data/$(basename "$file" .gz)"
done

wick_step ports-configure cmake -S tests/ports -B "$here/build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D WICK_SOURCE="$wick_root" \
  -D PROGRAMS="$here/programs" -D WICK_BUILD_TESTS=OFF -D WICK_BUILD_EXAMPLES=OFF -D WICK_ARROW=OFF
wick_step ports-build cmake --build "$here/build" --parallel "$wick_jobs" --target mnist_before mnist dcgan

cd "$here/programs"
first_epoch() { # first_epoch PROGRAM: the losses that it prints before it tests for the first time; the pipe then ends it
  ("$here/build/$1" | tr '\r' '\n' | sed '/^Test set/q' | grep -o 'Train Epoch: 1 .*' >"$1.log") || true
}
first_epoch mnist_before
first_epoch mnist
python3 - mnist_before.log mnist.log <<'END'
import sys

before, after = ([line.rsplit(" ", 1) for line in open(name)] for name in sys.argv[1:])
assert len(before) == 94 and [b[0] for b in before] == [a[0] for a in after], (len(before), len(after))
off = [abs(float(b[1]) - float(a[1])) for b, a in zip(before, after)]
print(f"ports: mnist: losses of the first 100 batches off by {max(off[:10]):.4f} at most, of all 938 by {max(off):.4f}")
assert max(off[:10]) <= 0.001 and max(off) <= 0.1  # normalize() may differ in a float's last bit, and training magnifies it
END
(stdbuf -oL "$here/build/dcgan" 1 | stdbuf -oL tr '\r' '\n' | grep --line-buffered '^\[' | sed 10q >dcgan.log) || true
[[ $(grep -cE '^\[ 1/ 1\]\[ *[0-9]+/938\] D_loss: [0-9.]+ \| G_loss: [0-9.]+$' dcgan.log) == 10 ]] ||
  wick_die "ports: dcgan printed: $(cat dcgan.log)"
wick_say "ports: passed"
