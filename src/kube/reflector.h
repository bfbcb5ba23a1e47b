#pragma once

// Keeps a listener up to date with one resource of the API: reads its state, then watches, and
// reads everything again only if the watch cannot continue (410). Backs off with jitter. The
// untyped half of Informer<T> (informer.h).
//
// Requests the state as a streaming list (a watch with sendInitialEvents), which is the cheapest
// form. Servers without it answer a list, in pages unless it comes from a cache.

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
  // The server may lack the resource or forbid reading it. The reflector then reports no objects at
  // once and retries each minute.
  bool optional = false;
};

// Receives the changes of a Reflector. Objects of a list arrive between beginReplace and
// endReplace; known objects that do not arrive in between have been deleted.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  // Returns true if objects may arrive as protobuf messages.
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
