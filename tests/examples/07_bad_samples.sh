# One damaged file of 40: replaced, reported, and left alone by the next run.
program=$1 scratch=$3
source "$(dirname "${BASH_SOURCE[0]}")/../support/red_and_blue.sh"
red_and_blue "$scratch/pictures" 20
echo 'GIF' >"$scratch/pictures/red/7.bmp"
cd "$scratch"
out=$("$program" pictures --batch 8 --size 16 --workers 2)
echo "$out"
grep -q '^pictures/red/7.bmp: decode: .*; in its place: pictures/' <<<"$out"
grep -q '^epoch 0: 40 samples, 1 failures so far$' <<<"$out"
[[ $(wc -l <failures.jsonl) == 1 ]]
grep -q 'red/7.bmp' bad.quarantine
out=$("$program" pictures --batch 8 --size 16)
echo "$out"
grep -q 'on the quarantine list' <<<"$out"
