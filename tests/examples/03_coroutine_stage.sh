# What the stage remembers in the first epoch is there in the second.
program=$1
out=$("$program" --customers 500 --epochs 2 --workers 2)
echo "$out"
grep -q '^epoch 1: .* 1000 look-ups in the stores$' <<<"$out"
grep -q '^epoch 2: .* 0 look-ups in the stores$' <<<"$out"
