#!/usr/bin/env bash
# build.sh FOLDER: builds the page into the folder, and at last a file "built". Never fails for want of node or of
# packages: the programs then have a page that says what is missing, and without "built" each build tries again.
set -euo pipefail
out=$1
cd "$(dirname "$0")"
mkdir -p "$out"

# Compresses a file into the folder. A result that is there already keeps its time, so nothing is compiled again.
compress() {
  gzip -9nc <"$1" >"$out/new"
  if cmp -s "$out/new" "$out/$2.gz"; then rm "$out/new"; else mv "$out/new" "$out/$2.gz"; fi
}
missing() {
  echo "console: $1; the programs have a page that says so" >&2
  compress missing.html index.html
  for file in app.js app.css icon.svg; do compress /dev/null "$file"; done
  exit 0
}
rm -f "$out/built"

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then missing "node and npm are not installed"; fi
if ! node -e 'process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)'; then missing "node is older than version 18"; fi
# npm writes this file last. One build at a time, since several build folders share node_modules.
exec 9<.
flock 9
if [ ! node_modules/.package-lock.json -nt package-lock.json ]; then
  log="$out/npm.log"
  if [ -n "$(find "$log" -newer package-lock.json -mmin -60 2>/dev/null)" ]; then
    missing "npm could not load the packages; the next try is an hour after the last, or now without $log"
  fi
  # A network that swallows packets must not hold up the build.
  if ! timeout 180 npm ci --ignore-scripts --no-fund --no-audit --fetch-timeout=30000 --fetch-retries=1 >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    missing "npm could not load the packages"
  fi
  rm "$log"
  touch node_modules/.package-lock.json
fi
npm run --silent build -- "$out"
touch "$out/built"
