#!/usr/bin/env bash
# build.sh BUILD JOBS: builds the programs with the version of this source, and their manuals and completions. The preset
# is the last part of BUILD.
set -euo pipefail
build=$1 jobs=$2
cd "$(dirname "$0")/.."

date=$(date -u -d "@$(packaging/date.sh)" +%F)
if ! report=$(cmake --preset "$(basename "$build")" -DKOORD_VERSION="$(scripts/version.sh)" -DKOORD_DATE="$date" 2>&1); then
  echo "$report" >&2
  exit 1
fi
scripts/build.sh "$build" "$jobs" packaged
