# The forecast gets far better than saying that nothing changes; the hardest windows are named.
program=$1
out=$("$program" --hours 1000 --epochs 4 --workers 2)
echo "$out"
awk '/^epoch 3: error / { found = 1; naive = substr($5, 2); good = $4 < 0.25 * naive } END { exit !(found && good) }' <<<"$out"
grep -q '^2823 windows; the hardest:$' <<<"$out"
grep -Eqc '^  series [0-2], rows [0-9]+ to [0-9]+: [0-9.e-]+$' <<<"$out"
