# On 2, 3, 1 and 4 ranks in turn, each but the last killed by SIGKILL: wick-audit finds each sample exactly once.
program=$1 tools=$2 scratch=$3
for folder in /usr/share/datasets/fashion-mnist "${WICK_FASHION_MNIST:-/nowhere}"; do
  [[ -e $folder/t10k-images-idx3-ubyte.gz ]] && data=$folder
done
[[ -n ${data:-} ]] || { echo "skipped: no Fashion-MNIST (Debian's package dataset-fashion-mnist)"; exit 77; }
# The smaller part for training, too.
mkdir "$scratch/data"
for part in train t10k; do
  ln -s "$data/t10k-images-idx3-ubyte.gz" "$scratch/data/$part-images-idx3-ubyte.gz"
  ln -s "$data/t10k-labels-idx1-ubyte.gz" "$scratch/data/$part-labels-idx1-ubyte.gz"
done
python3 "$(dirname "${BASH_SOURCE[0]:-$0}")/ddp.py" "$program" "$tools/wick-audit" "$scratch/data" "$scratch" --times "${WICK_DDP_TIMES:-1}"
