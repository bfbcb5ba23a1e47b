#!/usr/bin/env bash
# date.sh: the time of everything in packages, in seconds: SOURCE_DATE_EPOCH, or that of the commit.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -n "${SOURCE_DATE_EPOCH:-}" ]; then
  echo "$SOURCE_DATE_EPOCH"
elif [ -e .git ]; then
  git log -1 --format=%ct
else
  stat -c %Y CMakeLists.txt
fi
