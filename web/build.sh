#!/usr/bin/env bash
# build.sh FOLDER: builds the page into the folder. Never fails for want of node or of packages: the programs then have
# a page that says what is missing.
set -euo pipefail
out=$1
cd "$(dirname "$0")"
mkdir -p "$out"

missing() {
  echo "console: $1; the programs have a page that says so" >&2
  rm -f "$out"/*.gz
  gzip -9nc missing.html >"$out/index.html.gz"
  for file in app.js app.css icon.svg; do gzip -9nc </dev/null >"$out/$file.gz"; done
  exit 0
}

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then missing "node and npm are not installed"; fi
if ! node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)'; then missing "node is older than version 18"; fi
# npm writes this file last. One build at a time, since several build folders share node_modules.
exec 9<.
flock 9
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  # A network that swallows packets must not hold up the build.
  if ! timeout 180 npm ci --ignore-scripts --no-fund --no-audit --fetch-timeout=30000 --fetch-retries=1 >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    missing "npm could not load the packages"
  fi
  touch node_modules/.package-lock.json
fi
npm run --silent build -- "$out"
