# Learns red from blue, on a GPU where there is one.
program=$1 scratch=$3
source "$(dirname "${BASH_SOURCE[0]}")/../support/red_and_blue.sh"
red_and_blue "$scratch/pictures" 60
out=$("$program" "$scratch/pictures" --epochs 4 --batch 8 --size 16 --workers 2)
echo "$out"
python3 - "$out" <<'PYTHON'
import re, sys
losses = [float(loss) for loss in re.findall(r"^epoch \d: loss ([\d.]+)", sys.argv[1], re.MULTILINE)]
assert len(losses) == 4 and losses[-1] < 0.3 * losses[0], losses
PYTHON
