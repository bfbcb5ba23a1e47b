#!/bin/sh
# The tour with other kubectls than the one on PATH:
#   kubectl_versions.sh PATH-TO-apiserver_standalone FOLDER
# Debian's own (1.20 in Debian 12), unpacked into the folder without installing it, and every kubectl.1.NN on
# PATH. Skipped (77) when there is none of them.

set -u
server=${1:?usage: kubectl_versions.sh apiserver_standalone folder}
folder=${2:?usage: kubectl_versions.sh apiserver_standalone folder}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"

debian=$folder/root/usr/bin/kubectl
if ! [ -x "$debian" ] && command -v apt-get >/dev/null && command -v dpkg >/dev/null; then
  if (cd "$folder" && apt-get download kubernetes-client && dpkg -x kubernetes-client_*.deb root) >"$folder/log" 2>&1
  then
    rm -f "$folder"/kubernetes-client_*.deb
  else
    echo "Debian's kubernetes-client cannot be had here: $(tail -n 1 "$folder/log")"
  fi
fi

tried=0
failed=0
tour() {
  tried=$((tried + 1))
  echo "with $1"
  KUBECTL=$1 sh "$here/kubectl_tour.sh" "$server" || failed=$((failed + 1))
}
[ -x "$debian" ] && tour "$debian"
IFS=:
for directory in $PATH; do
  for other in "$directory"/kubectl.1.*; do
    [ -x "$other" ] && tour "$other"
  done
done
[ $tried -gt 0 ] || { echo "skipped: there is no other kubectl"; exit 77; }
exit $failed
