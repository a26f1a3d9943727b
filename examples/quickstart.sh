#!/usr/bin/env bash
# From a fresh checkout to a trained model: installs what is missing, builds example 01, writes Fashion-MNIST once as PNGs
# into tar shards, and trains on them. Ends with accuracy, samples/s, the share of the time spent waiting for data, and a
# line a stage.
#
#   bash examples/quickstart.sh [--no-install] [--data DIR] [-- ARGUMENT-OF-THE-EXAMPLE…]
#
#   --no-install  only name what is missing, and stop with 1
#   --data DIR    take the four files of Fashion-MNIST (train-images-idx3-ubyte.gz, …) from DIR instead of Debian's package
set -euo pipefail
here=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source tools/install_deps.sh

needs=(build torch data)
idx=/usr/share/datasets/fashion-mnist
arguments=()
while (($#)); do
  case $1 in
    --no-install) WICK_INSTALL=no ;;
    --data)
      (($# > 1)) || wick_die "quickstart: --data needs a folder"
      idx=$(cd "$here" && realpath -- "$2") || wick_die "quickstart: there is no folder $2"
      needs=(build torch)
      shift
      ;;
    --)
      shift
      arguments=("$@")
      break
      ;;
    -h | --help)
      sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
      exit
      ;;
    *) wick_die "quickstart: no option $1; --help says which there are" ;;
  esac
  shift
done

wick_require "${needs[@]}"
for file in {train,t10k}-{images-idx3,labels-idx1}-ubyte.gz; do
  [[ -r $idx/$file ]] || wick_die "quickstart: $idx has no $file"
done

wick_step quickstart-configure cmake --preset release -B build/quickstart \
  -DWICK_BUILD_TESTS=OFF -DWICK_BUILD_BENCH=OFF -DWICK_INSTALL=OFF
wick_step quickstart-build cmake --build build/quickstart --parallel "$(nproc)" --target idx_to_tar 01_fashion_mnist

# Written beside its place and moved there when it is whole: what is interrupted leaves nothing half.
shards=data/fashion-mnist
# Of other files shards of their own.
[[ $idx == /usr/share/datasets/fashion-mnist ]] || shards+=-$(printf '%s' "$idx" | cksum | cut -d ' ' -f 1)
if [[ ! -d $shards ]]; then
  mkdir -p data
  unfinished=$(mktemp -d "$shards.XXXXXX")
  trap 'rm -rf "$unfinished"' EXIT
  trap 'exit 130' INT TERM
  wick_say "writing Fashion-MNIST as PNGs into tar shards under $shards: 70,000 images"
  for part in train t10k; do
    wick_step "quickstart-shards-$part" build/quickstart/tools/idx_to_tar --shards 4 \
      "$idx/$part-images-idx3-ubyte.gz" "$idx/$part-labels-idx1-ubyte.gz" "$unfinished/$part"
  done
  chmod 755 "$unfinished"
  mv "$unfinished" "$shards"
  trap - EXIT INT TERM
fi

build/quickstart/examples/01_fashion_mnist "$shards" "${arguments[@]}"
cat <<'END'

This was examples/01_fashion_mnist.cpp: 60,000 PNGs from tar shards, shuffled, decoded, and batched while LibTorch trained. The table
above has a line for each stage; "waiting" is how long the loop stood still for data. What comes next:

  docs/tutorial.md                       a pipeline for your own files, step by step
  docs/guides/from_torch_data.md         what becomes of a torch::data loader; from_python_dataloader.md and from_opencv.md beside it
  bash tests/run.sh                      builds and runs wick's tests
END
