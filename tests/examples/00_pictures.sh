# The last program of the tutorial is this one: it says what it wants, and learns red from blue.
program=$1 scratch=$3
root=$(cd "$(dirname "$0")/../.." && pwd)
code=$(sed '1d' "$root/examples/00_pictures.cpp")
[[ $(<"$root/docs/tutorial.md") == *"$code"* ]] || { echo "docs/tutorial.md does not show examples/00_pictures.cpp"; exit 1; }

if "$program" 2>"$scratch/message"; then echo "ran without a folder"; exit 1; fi
grep -q '^usage: train FOLDER' "$scratch/message"
if "$program" "$scratch/none" 2>"$scratch/message"; then echo "ran without pictures"; exit 1; fi
grep -q 'none' "$scratch/message"

source "$(dirname "${BASH_SOURCE[0]}")/../support/red_and_blue.sh"
red_and_blue "$scratch/pictures" 80
out=$("$program" "$scratch/pictures")
echo "$out"
mapfile -t losses < <(sed -n 's/^epoch [0-9]*: loss //p' <<<"$out")
((${#losses[@]} == 5))
awk -v first="${losses[0]}" -v last="${losses[4]}" 'BEGIN { exit !(last < 0.9 * first) }' ||
  { echo "the loss does not fall: ${losses[*]}"; exit 1; }
# Of five epochs 800 samples; how many of the sixth are made ahead is a matter of time.
count=$(sed -n 's/^  random_resized_crop  *\([0-9]*\) .*/\1/p' <<<"$out")
((count >= 800 && count <= 800 + 160 + 9 * 32)) || { echo "random_resized_crop ran $count times"; exit 1; }
grep -q '^waiting for data: mean' <<<"$out"
# The verdict comes first, of 30 iterations or more.
grep -A 1 '^epoch 4' <<<"$out" | tail -1 | grep -q '^Too early to tell: 25 iterations measured'
