# Both loaders give all that they have.
program=$1
data=/usr/share/datasets/fashion-mnist
[[ -r $data/train-images-idx3-ubyte.gz ]] || { echo "skipped: no $data (Debian's package dataset-fashion-mnist)"; exit 77; }
out=$("$program" "$data" --epochs 2 --limit 6400 --workers 2)
echo "$out"
grep -q '^epoch 2: validation accuracy [6-9][0-9]' <<<"$out"
grep -q '^20000 samples in' <<<"$out"
