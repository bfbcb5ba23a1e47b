#pragma once

// Informer<T>: a local copy of all objects of a kind (within a scope) that follows the API, and
// callbacks for changes. Runs on the Api's executor. A handler that is added late first receives an
// onAdd for every known object. The order per object is kept. An object that was deleted and
// re-created while the connection was down arrives as onDelete, then onAdd.

#include <functional>
#include <tuple>
#include <unordered_set>

#include "api/codec.h"
#include "base/caught.h"
#include "base/log.h"
#include "kube/reflector.h"

namespace koord::kube {

template <class T>
class Informer final : private ReflectorSink {
 public:
  using Object = std::shared_ptr<const T>;

  struct Handler {
    std::function<void(const Object& object)> onAdd;
    std::function<void(const Object& before, const Object& after)> onUpdate;
    std::function<void(const Object& last)> onDelete;
  };

  Informer(Api& api, Executor& executor, WatchScope scope = {}, Random random = Random(1));
  ~Informer() override;

  // Call before start: removes parts of each object before it is stored. Fields that our structs
  // lack, such as managedFields, are never stored.
  void setTransform(std::function<void(T& object)> transform) { transform_ = std::move(transform); }
  // Call before start: calls onUpdate(object, object) for every object once per period, for
  // handlers that compare with state outside of the API. Each round is delayed by up to a tenth of
  // the period, at random.
  void setResync(Duration period) { resync_ = period; }

  void start();
  void addHandler(Handler handler);

  // True after the first complete list. onSynced runs its callback then, or at once if synced.
  bool synced() const { return synced_; }
  void onSynced(std::function<void()> fn);

  // nullptr if the object is not known.
  Object get(const api::ObjectKey& key) const;
  // Objects are their own keys, because there may be hundreds of thousands.
  struct ByKey {
    using is_transparent = void;
    std::size_t operator()(const api::ObjectKey& key) const {
      return std::hash<api::ObjectKey>{}(key);
    }
    std::size_t operator()(const Object& object) const {
      return std::hash<api::ObjectKey>::of(object->metadata.namespace_, object->metadata.name);
    }
    bool operator()(const api::ObjectKey& key, const Object& object) const {
      return object->metadata.name == key.name && object->metadata.namespace_ == key.namespace_;
    }
    bool operator()(const Object& object, const api::ObjectKey& key) const {
      return (*this)(key, object);
    }
    bool operator()(const Object& a, const Object& b) const {
      return a->metadata.name == b->metadata.name &&
             a->metadata.namespace_ == b->metadata.namespace_;
    }
  };
  using Objects = std::unordered_set<Object, ByKey, ByKey>;
  const Objects& objects() const { return objects_; }
  std::size_t size() const { return objects_.size(); }

 private:
  void beginReplace() override;
  bool readsProtobuf() const override { return api::planFor<T>() != nullptr; }
  void upsert(const Received& received) override;
  void remove(const Received& received) override;
  void endReplace() override;

  void erase(const api::ObjectKey& key);
  Task<void> resyncForever();
  // Calls a handler's function, if set. An exception of it does not affect the other handlers or
  // later objects: an unexpected object must not end a program repeatedly.
  template <class Fn, class... Args>
  static void callHandler(const Fn& fn, const Args&... args);
  void notifyAdd(const Object& object);
  void notifyDelete(const Object& object);

  Executor& executor_;
  Random random_;
  std::function<void(T&)> transform_;
  Duration resync_{};
  Objects objects_;
  // During a replace: known objects that the list has not contained so far.
  std::unordered_set<api::ObjectKey> unseen_;
  std::vector<Handler> handlers_;
  std::vector<std::function<void()>> waiting_;
  bool synced_ = false;
  Reflector reflector_;
  TaskGroup tasks_;
};

template <class T>
Informer<T>::Informer(Api& api, Executor& executor, WatchScope scope, Random random)
    : executor_(executor),
      random_(random.fork()),
      reflector_(api, executor, T::kType, std::move(scope), *this, random) {}

template <class T>
Informer<T>::~Informer() = default;

template <class T>
void Informer<T>::start() {
  reflector_.start();
  if (resync_ > Duration::zero()) tasks_.spawn(resyncForever());
}

template <class T>
void Informer<T>::addHandler(Handler handler) {
  handlers_.push_back(std::move(handler));
  if (auto& onAdd = handlers_.back().onAdd)
    for (const auto& object : objects_) callHandler(onAdd, object);
}

template <class T>
void Informer<T>::onSynced(std::function<void()> fn) {
  if (synced_) {
    fn();
  } else {
    waiting_.push_back(std::move(fn));
  }
}

template <class T>
typename Informer<T>::Object Informer<T>::get(const api::ObjectKey& key) const {
  const auto it = objects_.find(key);
  return it == objects_.end() ? nullptr : *it;
}

template <class T>
void Informer<T>::beginReplace() {
  unseen_.clear();
  for (const auto& object : objects_) unseen_.insert(api::keyOf(object->metadata));
}

template <class T>
void Informer<T>::upsert(const Received& received) {
  auto decoded = received.as<T>();
  if (!decoded) {
    // The stored object cannot be decoded. Keep the last good version and continue with all others,
    // unless this is a new object of the same name.
    const api::ObjectKey key = received.key();
    const Object known = get(key);
    const auto uid = received.uid();
    if (known && !uid.empty() && uid != known->metadata.uid) erase(key);
    log::warn("ignoring {} {}/{}: {}", T::kType.kind, key.namespace_, key.name,
              decoded.error().message);
    unseen_.erase(key);
    return;
  }
  if (transform_) transform_(*decoded);
  Object after = std::make_shared<const T>(*std::move(decoded));
  const api::ObjectKey key = api::keyOf(after->metadata);
  unseen_.erase(key);
  const auto it = objects_.find(key);
  if (it == objects_.end()) {
    objects_.insert(after);
    notifyAdd(after);
    return;
  }
  const Object before = *it;
  if (before->metadata.uid != after->metadata.uid) {
    objects_.erase(it);
    notifyDelete(before);
    objects_.insert(after);
    notifyAdd(after);
    return;
  }
  if (before->metadata.resourceVersion == after->metadata.resourceVersion) return;
  auto place = objects_.extract(it);
  place.value() = after;
  objects_.insert(std::move(place));
  for (auto& handler : handlers_) callHandler(handler.onUpdate, before, after);
}

template <class T>
void Informer<T>::remove(const Received& received) {
  erase(received.key());
}

template <class T>
void Informer<T>::endReplace() {
  for (const auto& key : std::exchange(unseen_, {})) erase(key);
  if (synced_) return;
  synced_ = true;
  for (auto& fn : std::exchange(waiting_, {})) fn();
}

template <class T>
void Informer<T>::erase(const api::ObjectKey& key) {
  const auto it = objects_.find(key);
  if (it == objects_.end()) return;
  const Object last = *it;
  objects_.erase(it);
  notifyDelete(last);
}

template <class T>
Task<void> Informer<T>::resyncForever() {
  for (;;) {
    auto pause = sleepFor(executor_, resync_ + Duration(random_.below(resync_.count() / 10 + 1)));
    co_await pause;
    // Handlers may call any function of this object, so call them outside of the loop over the
    // objects.
    std::vector<Object> all;
    for (const auto& object : objects_) all.push_back(object);
    for (const auto& object : all)
      for (auto& handler : handlers_) callHandler(handler.onUpdate, object, object);
  }
}

template <class T>
template <class Fn, class... Args>
void Informer<T>::callHandler(const Fn& fn, const Args&... args) {
  if (!fn) return;
  try {
    fn(args...);
  } catch (...) {
    const Object& last = std::get<sizeof...(args) - 1>(std::tie(args...));
    log::error("a handler of {} {}/{}: unexpected exception: {}", T::kType.kind,
               last->metadata.namespace_, last->metadata.name, thrownText());
  }
}

template <class T>
void Informer<T>::notifyAdd(const Object& object) {
  for (auto& handler : handlers_) callHandler(handler.onAdd, object);
}

template <class T>
void Informer<T>::notifyDelete(const Object& object) {
  for (auto& handler : handlers_) callHandler(handler.onDelete, object);
}

}  // namespace koord::kube

namespace koord::api {
struct ControllerRevision;
struct CronJob;
struct DaemonSet;
struct Deployment;
struct Job;
struct Lease;
struct Namespace;
struct Node;
struct NodeMetric;
struct Pod;
struct PodDisruptionBudget;
struct ReplicaSet;
struct StatefulSet;
}  // namespace koord::api

namespace koord::kube {

// Informers that many files use are compiled once (informer_kinds.cc, informer_workloads.cc).
extern template class Informer<api::Lease>;
extern template class Informer<api::Namespace>;
extern template class Informer<api::Node>;
extern template class Informer<api::NodeMetric>;
extern template class Informer<api::Pod>;
extern template class Informer<api::PodDisruptionBudget>;
extern template class Informer<api::ControllerRevision>;
extern template class Informer<api::CronJob>;
extern template class Informer<api::DaemonSet>;
extern template class Informer<api::Deployment>;
extern template class Informer<api::Job>;
extern template class Informer<api::ReplicaSet>;
extern template class Informer<api::StatefulSet>;

}  // namespace koord::kube
