#!/usr/bin/env bash
# lint.sh [FOLDER]: what check_tree.py checks, the wording (check_words.py) and the format of all
# sources, in a few seconds; `make test` begins with it. With a build folder clang-tidy follows,
# which takes many times longer than a build.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-}
sources() { find src cmd tests bench \( -name '*.h' -o -name '*.cc' \) -print0; }

failed=0
python3 scripts/check_tree.py || failed=1
python3 scripts/check_words.py || failed=1
if ! command -v clang-format-19 >/dev/null; then
  echo "format: not checked, clang-format-19 is missing (scripts/install-packages.sh installs it)"
elif report=$(sources | xargs -0 -P "$(nproc)" -n 64 clang-format-19 --dry-run --Werror 2>&1); then
  echo "format: ok"
else
  grep -E '^[^ ]+:[0-9]+:' <<<"$report" | cut -d: -f1,2 | sort -u | head -20
  echo "error: these lines are not formatted; run: make format" >&2
  failed=1
fi
[ "$failed" = 0 ] || exit 1

[ -n "$folder" ] || exit 0
if ! command -v clang-tidy-19 >/dev/null; then
  echo "error: clang-tidy-19 is missing; run: apt-get install clang-tidy-19" >&2
  exit 1
fi
[ -f "$folder/compile_commands.json" ] || cmake --preset "$(basename "$folder")" >/dev/null
find src cmd -name '*.cc' ! -name '*_test.cc' -print0 |
  xargs -0 -P "$(nproc)" -n 8 clang-tidy-19 -quiet -p "$folder"
