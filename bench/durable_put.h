#pragma once

// Raw durable writes of small values, by the API server's store and, where it is installed, by
// etcd: what is under everything else. Both sync to disk before they answer and share syncs between
// the writers in flight. etcd is asked over HTTP on loopback (its JSON gateway), the store is in
// the process: part of the difference is the price of being a server.

#include "bench.h"

namespace koord::bench {

// params: puts, inFlight, bytes (of a value).
Numbers putMany(const Numbers& params);
// Nothing when there is no etcd on the PATH.
Numbers putManyInEtcd(const Numbers& params);

}  // namespace koord::bench
