# Interrupted by SIGINT in the middle of an epoch and run again: the weights are those of an undisturbed training.
program=$1 scratch=$3
for folder in /usr/share/datasets/fashion-mnist "${WICK_FASHION_MNIST:-/nowhere}"; do
  [[ -e $folder/train-images-idx3-ubyte.gz ]] && data=$folder
done
[[ -n ${data:-} ]] || { echo "skipped: no Fashion-MNIST (Debian's package dataset-fashion-mnist)"; exit 77; }
mkdir -p "$scratch/whole" "$scratch/stopped"
whole=$(cd "$scratch/whole" && "$program" "$data" --epochs 2 --workers 2 | tail -1)
echo "$whole"
grep -q '^trained: the weights add up to [0-9.]*$' <<<"$whole"

cd "$scratch/stopped"
"$program" "$data" --epochs 2 --workers 1 >first.txt &
training=$!
for _ in {1..600}; do
  grep -q 'epoch 0 is under way' first.txt && break
  sleep 0.05
done
kill -INT $training
wait $training
cat first.txt
grep -q '^interrupted: checkpoint.pt is written' first.txt
"$program" "$data" --epochs 2 --workers 2 >second.txt
cat second.txt
grep -q '^resumes in epoch 0$' second.txt
[[ $(tail -1 second.txt) == "$whole" ]] || { echo "not what an undisturbed training ends with"; exit 1; }
# Of another seed: refused.
if "$program" "$data" --epochs 3 --seed 43 2>message.txt; then echo "went on with another seed"; exit 1; fi
grep -q 'seed' message.txt
