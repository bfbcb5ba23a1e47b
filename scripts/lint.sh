#!/usr/bin/env bash
# lint.sh FOLDER: include directions, file sizes, formatting, then clang-tidy over what git tracks.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/dev}

python3 scripts/check_tree.py
git ls-files '*.h' '*.cc' | xargs clang-format-19 --dry-run --Werror
[ -f "$folder/compile_commands.json" ] || cmake --preset "$(basename "$folder")" >/dev/null
git ls-files 'src/*.cc' 'cmd/*.cc' | grep -v _test.cc | xargs -P "$(nproc)" -n 8 clang-tidy-19 -quiet -p "$folder"
