#!/usr/bin/env bash
# build.sh FOLDER JOBS TARGET: configures (once) and builds. The preset is the folder's last part.
set -euo pipefail

folder=$1 jobs=$2 target=$3
cd "$(dirname "$0")/.."

if [ ! -f "$folder/build.ninja" ]; then
  echo "configuring $folder"
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  if ! cmake --preset "$(basename "$folder")" >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
fi
start=$SECONDS
NINJA_STATUS='[%f/%t %es] ' ninja -C "$folder" -j "$jobs" "$target"
echo "built $target in $((SECONDS - start)) s"
