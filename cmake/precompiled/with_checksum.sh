#!/bin/sh
# with_checksum.sh COMPILER...: makes a precompiled header, with its checksum next to it.
header=
for argument; do
  case $argument in *.gch) header=$argument ;; esac
done
[ -n "$header" ] || exec "$@"
# The compiler cache would take one that is there for part of what is compiled now, and give out for the new header
# whatever else had once been made beside it.
rm -f "$header" "$header.sum"
"$@" || exit
sha1sum <"$header" >"$header.sum"
