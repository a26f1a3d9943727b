# A byte-level model learns text of a small grammar: it must do better than who knows the byte before alone, and cannot do better
# than the grammar's own choices, unless it is shown what it is asked for.
program=$1 scratch=$3
export OMP_NUM_THREADS=1
out=$("$program" "$scratch" --documents 600 --workers 1)
echo "$out"
awk '/^bits a byte:/ { found = 1; model = $4; grammar = $8; pairs = $12 }
     END { exit !(found && model < 0.5 * pairs && model > 0.99 * grammar) }' <<<"$out"
