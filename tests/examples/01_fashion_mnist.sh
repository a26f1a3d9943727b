# Trains on a part of Fashion-MNIST, through shards that the tool writes.
program=$1 tools=$2 scratch=$3
data=/usr/share/datasets/fashion-mnist
[[ -r $data/train-images-idx3-ubyte.gz ]] || { echo "skipped: no $data (Debian's package dataset-fashion-mnist)"; exit 77; }
"$tools/idx_to_tar" "$data/train-images-idx3-ubyte.gz" "$data/train-labels-idx1-ubyte.gz" "$scratch/train" --shards 3
"$tools/idx_to_tar" "$data/t10k-images-idx3-ubyte.gz" "$data/t10k-labels-idx1-ubyte.gz" "$scratch/t10k"
out=$("$program" "$scratch" --epochs 1 --limit 6400 --workers 2)
echo "$out"
accuracy=$(sed -n 's/^test accuracy \([0-9]*\).*/\1/p' <<<"$out")
((accuracy >= 65)) || { echo "accuracy $accuracy % after 100 batches; expected at least 65"; exit 1; }
for stage in order read decode random_horizontal_flip batch pin transfer normalize; do
  grep -q "^  $stage  *[0-9]" <<<"$out" || { echo "no line for the stage $stage"; exit 1; }
done
grep -q '^waiting for data: mean' <<<"$out"

# A shard that is cut off, and a folder without shards.
head -c 100000 "$scratch/train-000000.tar" >"$scratch/train-000003.tar"
if message=$("$program" "$scratch" --epochs 1 2>&1); then echo "a shard that is cut off was accepted"; exit 1; fi
grep -q 'train-000003.tar' <<<"$message" || { echo "$message"; exit 1; }
mkdir "$scratch/empty"
if "$program" "$scratch/empty" 2>"$scratch/message"; then exit 1; fi
cat "$scratch/message"
if "$program" "$scratch" --epocks 1 2>"$scratch/message"; then exit 1; fi
grep -q 'no option --epocks' "$scratch/message"
rm -rf "$scratch"/*.tar
