#!/usr/bin/env bash
# test.sh: the types, the format and the unit tests of the page. Ends with 77, as skipped, without the packages.
set -euo pipefail
cd "$(dirname "$0")"
if [ ! -d node_modules/esbuild ]; then
  echo "skipped: web/node_modules is missing: cd web && npm ci"
  exit 77
fi
npm run --silent check
npm run --silent test
