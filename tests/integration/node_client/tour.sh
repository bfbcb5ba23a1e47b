#!/bin/sh
# The tour with @kubernetes/client-node:
#   tour.sh PATH-TO-apiserver_standalone FOLDER
# Installs what package-lock.json names into the folder, once. Skipped (77) without node or npm, and when the
# registry cannot be reached.

set -u
server=${1:?usage: tour.sh apiserver_standalone folder}
folder=${2:?usage: tour.sh apiserver_standalone folder}
here=$(cd "$(dirname "$0")" && pwd)
for program in node npm; do
  command -v "$program" >/dev/null || { echo "skipped: there is no $program"; exit 77; }
done

mkdir -p "$folder"
if ! cmp -s "$here/package-lock.json" "$folder/installed"; then
  cp "$here/package.json" "$here/package-lock.json" "$folder/"
  if ! (cd "$folder" && npm ci --no-audit --no-fund --fetch-retries=1 >npm.log 2>&1); then
    echo "skipped: npm cannot install @kubernetes/client-node:"
    tail -n 5 "$folder/npm.log"
    exit 77
  fi
  cp "$here/package-lock.json" "$folder/installed"
fi
cp "$here/tour.mjs" "$folder/"

. "$here/../server.sh"
serve "$server"
node "$folder/tour.mjs"
