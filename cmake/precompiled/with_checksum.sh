#!/bin/sh
# with_checksum.sh COMPILER...: compiles, and writes the checksum of a precompiled header next to it.
"$@" || exit
for argument; do
  case $argument in *.gch) sha1sum <"$argument" >"$argument.sum" ;; esac
done
