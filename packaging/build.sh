#!/usr/bin/env bash
# build.sh BUILD JOBS: builds the programs with the version of this source, and their manuals and completions.
set -euo pipefail
build=$1 jobs=$2
cd "$(dirname "$0")/.."

scripts/build.sh "$build" "$jobs" programs
date=$(date -u -d "@$(packaging/date.sh)" +%F)
cmake -DKOORD_VERSION="$(scripts/version.sh)" -DKOORD_DATE="$date" "$build" >/dev/null
scripts/build.sh "$build" "$jobs" packaged
