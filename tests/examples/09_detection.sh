# Learns to find discs and squares.
program=$1 scratch=$3
out=$("$program" "$scratch" --epochs 10 --count 300 --workers 2)
echo "$out"
python3 - "$out" <<'PYTHON'
import re, sys
lines = re.findall(r"loss ([\d.e-]+), found (\d+) % of (\d+) boxes", sys.argv[1])
assert len(lines) == 10, lines
assert float(lines[-1][0]) < 0.4 * float(lines[0][0]), lines
assert int(lines[-1][1]) >= 80, lines
assert len({boxes for _, _, boxes in lines}) > 1, lines  # crops leave other boxes each epoch
PYTHON
