# Learns red from blue, with one damaged file among them.
program=$1 scratch=$3
source "$(dirname "${BASH_SOURCE[0]}")/../support/red_and_blue.sh"
red_and_blue "$scratch/pictures" 60
out=$("$program" "$scratch/pictures" --epochs 3 --batch 8 --size 16 --workers 2)
echo "$out"
grep -q '^epoch 3: .*accuracy 100.0 %' <<<"$out"
echo 'GIF' >"$scratch/pictures/red/7.bmp"
"$program" "$scratch/pictures" --epochs 1 --batch 8 --size 16 2>"$scratch/message"
grep -q 'left out: .*red/7.bmp: decode: ' "$scratch/message"
