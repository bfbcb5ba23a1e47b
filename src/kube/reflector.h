#pragma once

// Keeps a listener in step with one resource of the API: reads its state, then watches, and reads
// all again only when the watch cannot go on (410). Back-off with jitter. The untyped half of
// Informer<T> (informer.h).
//
// The state comes as a streaming list (a watch with sendInitialEvents), which costs the server and
// us least; from servers that do not know that, as a list, in pages where it does not come from a
// cache.

#include <memory>
#include <string>

#include "base/random.h"
#include "kube/api.h"
#include "kube/received.h"

namespace koord::kube {

struct WatchScope {
  std::string namespace_;  // "" = all
  std::string labelSelector;
  std::string fieldSelector;
  // The server may not have the resource, or not let us read it: then there are no objects, which
  // is known at once, and it is asked again each minute.
  bool optional = false;
};

// Where a Reflector delivers. Objects of a list arrive between beginReplace and endReplace; what
// was known before and does not come then has been deleted.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  // Whether objects may come as messages.
  virtual bool readsProtobuf() const { return false; }
  virtual void beginReplace() = 0;
  virtual void upsert(const Received& object) = 0;
  virtual void remove(const Received& object) = 0;
  virtual void endReplace() = 0;
};

class Reflector {
 public:
  Reflector(Api& api, Executor& executor, const api::ResourceType& type, WatchScope scope,
            ReflectorSink& sink, Random random);
  ~Reflector();

  void start();
  // Of the last list or event, "" before the first.
  const std::string& resourceVersion() const;

 private:
  class Loop;
  std::unique_ptr<Loop> loop_;
};

}  // namespace koord::kube
