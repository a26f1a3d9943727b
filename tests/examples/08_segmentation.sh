# Learns discs and squares; then a mask is missing, and one is damaged.
program=$1 scratch=$3
out=$("$program" "$scratch" --epochs 3 --count 200 --workers 2)
echo "$out"
python3 - "$out" <<'PYTHON'
import re, sys
lines = re.findall(r"loss ([\d.e-]+), IoU ([\d.]+)", sys.argv[1])
first, last = float(lines[0][0]), float(lines[-1][0])
assert len(lines) == 3 and last < 0.4 * first, lines
assert float(lines[-1][1]) > 0.7, lines
PYTHON
if "$program" "$scratch" --count 0 --epochs 1 >"$scratch/again"; then grep -q '^epoch 1: ' "$scratch/again"; else exit 1; fi
printf 'no PNG' >"$scratch/mask/7.png"
if "$program" "$scratch" --count 0 --epochs 1 2>"$scratch/message"; then echo "a damaged mask was taken"; exit 1; fi
grep -q 'img/7.png + .*mask/7.png: decode_mask: ' "$scratch/message"
rm "$scratch/mask/7.png"
if "$program" "$scratch" --count 0 --epochs 1 2>"$scratch/message"; then echo "a missing mask was not seen"; exit 1; fi
grep -q 'zip: 1 sample of source 0 .*img/7.png' "$scratch/message"
