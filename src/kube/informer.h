#pragma once

// Informer<T>: a local, always current copy of all objects of a kind (within a scope), and
// callbacks when one changes. Everything happens on the Api's executor. A handler that is added
// late first sees an onAdd for every object that is there. Order per object is kept; an object that
// was deleted and re-created while the connection was down arrives as onDelete, then onAdd.

#include <functional>
#include <unordered_map>
#include <unordered_set>

#include "api/codec.h"
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

  Informer(Api& api, Executor& executor, WatchScope scope = {}, Random random = Random(1))
      : executor_(executor),
        random_(random.fork()),
        reflector_(api, executor, T::kType, std::move(scope), *this, random) {}

  // Before start: what to take off each object before it is kept. What our structs do not hold,
  // managedFields first of all, is never kept.
  void setTransform(std::function<void(T& object)> transform) { transform_ = std::move(transform); }
  // Before start: onUpdate(object, object) for every object so often, for handlers that compare
  // with a world outside the API. Each round comes up to a tenth of the period later, by chance.
  void setResync(Duration period) { resync_ = period; }

  void start() {
    reflector_.start();
    if (resync_ > Duration::zero()) tasks_.spawn(resyncForever());
  }

  void addHandler(Handler handler) {
    handlers_.push_back(std::move(handler));
    if (auto& onAdd = handlers_.back().onAdd)
      for (const auto& [key, object] : objects_) onAdd(object);
  }

  // True once the first list is in; onSynced runs its callback then, or now if it is already.
  bool synced() const { return synced_; }
  void onSynced(std::function<void()> fn) {
    if (synced_) {
      fn();
    } else {
      waiting_.push_back(std::move(fn));
    }
  }

  // nullptr when there is none.
  Object get(const api::ObjectKey& key) const {
    const auto it = objects_.find(key);
    return it == objects_.end() ? nullptr : it->second;
  }
  const std::unordered_map<api::ObjectKey, Object>& objects() const { return objects_; }
  std::size_t size() const { return objects_.size(); }

 private:
  void beginReplace() override {
    unseen_.clear();
    for (const auto& [key, object] : objects_) unseen_.insert(key);
  }

  void upsert(const json::value& document) override {
    auto decoded = api::decode<T>(document);
    if (!decoded) {
      // The stored object cannot be read by us: keep the last good one rather than act on half of
      // it.
      log::warn("ignoring {} {}/{}: {}", T::kType.kind, textAt(document, "metadata", "namespace"),
                textAt(document, "metadata", "name"), decoded.error().message);
      unseen_.erase(keyIn(document));
      return;
    }
    if (transform_) transform_(*decoded);
    Object after = std::make_shared<const T>(*std::move(decoded));
    const api::ObjectKey key = api::keyOf(after->metadata);
    unseen_.erase(key);
    const auto it = objects_.find(key);
    if (it == objects_.end()) {
      objects_.emplace(key, after);
      notifyAdd(after);
      return;
    }
    const Object before = it->second;
    if (before->metadata.uid != after->metadata.uid) {
      objects_.erase(it);
      notifyDelete(before);
      objects_.emplace(key, after);
      notifyAdd(after);
      return;
    }
    if (before->metadata.resourceVersion == after->metadata.resourceVersion) return;
    it->second = after;
    for (auto& handler : handlers_)
      if (handler.onUpdate) handler.onUpdate(before, after);
  }

  void remove(const json::value& document) override { erase(keyIn(document)); }

  void endReplace() override {
    for (const auto& key : std::exchange(unseen_, {})) erase(key);
    if (synced_) return;
    synced_ = true;
    for (auto& fn : std::exchange(waiting_, {})) fn();
  }

  static api::ObjectKey keyIn(const json::value& document) {
    return {std::string(textAt(document, "metadata", "namespace")),
            std::string(textAt(document, "metadata", "name"))};
  }

  void erase(const api::ObjectKey& key) {
    const auto it = objects_.find(key);
    if (it == objects_.end()) return;
    const Object last = it->second;
    objects_.erase(it);
    notifyDelete(last);
  }

  Task<void> resyncForever() {
    for (;;) {
      auto pause = sleepFor(executor_, resync_ + Duration(random_.below(resync_.count() / 10 + 1)));
      co_await pause;
      // Handlers may do anything, so not while walking over the objects.
      std::vector<Object> all;
      for (const auto& [key, object] : objects_) all.push_back(object);
      for (const auto& object : all)
        for (auto& handler : handlers_)
          if (handler.onUpdate) handler.onUpdate(object, object);
    }
  }

  void notifyAdd(const Object& object) {
    for (auto& handler : handlers_)
      if (handler.onAdd) handler.onAdd(object);
  }
  void notifyDelete(const Object& object) {
    for (auto& handler : handlers_)
      if (handler.onDelete) handler.onDelete(object);
  }

  Executor& executor_;
  Random random_;
  std::function<void(T&)> transform_;
  Duration resync_{};
  std::unordered_map<api::ObjectKey, Object> objects_;
  std::unordered_set<api::ObjectKey>
      unseen_;  // during a replace: known before, not in the list so far
  std::vector<Handler> handlers_;
  std::vector<std::function<void()>> waiting_;
  bool synced_ = false;
  Reflector reflector_;
  TaskGroup tasks_;
};

}  // namespace koord::kube
