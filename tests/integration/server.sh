# For tours, to be read with `.`: an API server of one's own.

# serve PATH-TO-apiserver_standalone: starts it; it ends with this shell. $dir is a folder to work in, with
# the server's kubeconfig.
serve() {
  dir=$(mktemp -d)
  "$1" --kubeconfig "$dir/kubeconfig" >"$dir/ready" 2>"$dir/log" &
  pid=$!
  trap 'kill $pid 2>/dev/null; rm -rf "$dir"' EXIT
  tries=0
  until [ -s "$dir/ready" ]; do
    tries=$((tries + 1))
    [ $tries -lt 100 ] || { echo "the server does not start:"; cat "$dir/log"; exit 1; }
    sleep 0.1
  done
  export KUBECONFIG="$dir/kubeconfig"
}
