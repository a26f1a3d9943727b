#!/usr/bin/env bash
# Kills trainings at random moments and resumes them on other workers and ranks: 0 samples lost, 0 repeated, order equal.
#
#   bash tests/kill/kill.sh [KILLS] [--stream NAME] [--seed N] [--fault NAME]
#   bash tests/kill/kill.sh --cache [KILLS] [--full N] [--seed N]
#
# 100 kills when it is not said. --stream: plain, bucketed, packed, filtered, mixed, changing or stored; `30 --stream all` is 30
# kills of each. --cache: processes that write one cache on disk are killed, 200 times, 20 of them with a full disk. --fault: the training resumes wrongly, and that must be found: late, again, order, draw; leak (filtered), forget (changing).
# Builds what it needs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
source tools/install_deps.sh

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "${BASH_SOURCE[0]}"
  exit
fi
wick_require build tests >&2
{
  wick_get_s3
  wick_step resume-configure cmake --preset release -B build/resume -DWICK_TORCH=OFF -DWICK_BUILD_EXAMPLES=OFF \
    -DWICK_BUILD_BENCH=OFF
  wick_step resume-build cmake --build build/resume --parallel "$(nproc)" --target wick_resume_train wick_cached_train
} >&2
if [[ ${1:-} == --cache ]]; then
  exec python3 tests/kill/cache.py build/resume/tests/kill/wick_cached_train "${@:2}"
fi
exec python3 tests/kill/kill.py build/resume/tests/kill/wick_resume_train "$@"
