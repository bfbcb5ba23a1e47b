#!/usr/bin/env bash
# build_test.sh: without node the page is the one that says so, the build is not complete, and building again changes
# no file; with node it is complete.
set -euo pipefail
build=$(cd "$(dirname "$0")/../../web" && pwd)/build.sh
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "error: $1" >&2
  exit 1
}

mkdir "$folder/bin"
for program in bash dirname mkdir gzip cmp rm mv; do ln -s "$(command -v "$program")" "$folder/bin/"; done
without_node() { PATH=$folder/bin "$folder/bin/bash" "$build" "$folder/web" 2>"$folder/log"; }
without_node
grep -q "node and npm are not installed" "$folder/log" || fail "the reason is not said: $(cat "$folder/log")"
gzip -dc "$folder/web/index.html.gz" | grep -q "The console was not built" || fail "the page does not say so"
[ ! -e "$folder/web/built" ] || fail "a build without node counts as complete"
touch -d 2000-01-01 "$folder"/web/*.gz
without_node
[ -z "$(find "$folder/web" -name '*.gz' -newermt 2000-01-02)" ] || fail "files that are the same were written again"

[ -d "$(dirname "$build")/node_modules/esbuild" ] || exit 0
"$build" "$folder/web" >"$folder/log"
[ -e "$folder/web/built" ] || fail "a build with node does not count as complete"
gzip -dc "$folder/web/index.html.gz" | grep -q app.js || fail "the page is still the one that says what is missing"
