# TensorBoard's own reader finds the loss of each step and the report of each epoch. WICK_TENSORBOARD_VENV names a
# Python environment that has it; else python3's is taken.
program=$1 scratch=$3
"$program" "$scratch/log" --samples 2000 --epochs 3 --workers 2 >"$scratch/out"
cat "$scratch/out"
grep -Eq '^epoch 2: loss 0\.[0-9]+$' "$scratch/out"
if "$program" "$scratch/out/no" >"$scratch/no" 2>&1; then
  echo "a log folder inside a file was taken"
  exit 1
fi
grep -q "$scratch/out/no" "$scratch/no"

python=${WICK_TENSORBOARD_VENV:+$WICK_TENSORBOARD_VENV/bin/}python3
if ! "$python" -c 'import tensorboard' 2>/dev/null; then
  echo "skipped: no tensorboard for $python; WICK_TENSORBOARD_VENV names an environment that has it"
  exit 77
fi
"$python" - "$scratch/log" "$(awk '/^epoch 2/ { print $4 }' "$scratch/out")" <<'END'
import sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
events.Reload()
tags = set(events.Tags()["scalars"])
assert {"train/loss", "wick/wait", "wick/samples_per_second", "wick/stage/batch/busy"} <= tags, tags
loss = events.Scalars("train/loss")
assert [e.step for e in loss] == list(range(96)), [e.step for e in loss]
assert abs(loss[-1].value - float(sys.argv[2])) < 1e-4, (loss[-1], sys.argv[2])
assert [e.step for e in events.Scalars("wick/wait")] == [32, 64, 96]
assert all(0 <= e.value <= 1 for e in events.Scalars("wick/wait"))
assert all(e.value > 0 for e in events.Scalars("wick/samples_per_second"))
print(f"tensorboard read {len(tags)} tags")
END
