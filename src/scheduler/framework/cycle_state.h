#pragma once

// CycleState: data that plugins keep from one extension point to the next, by key (usually the
// plugin's name). It lives as long as one attempt to place one pod, including its binding. Signed
// plugins (plugin.h), whose answers a class of pods shares, get a state that lives as long as the
// class.

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "api/meta.h"
#include "scheduler/framework/node_view.h"

namespace koord::scheduler {

class CycleState {
 public:
  // Keys must outlive the state: use string constants.
  template <class T>
  T& put(std::string_view key, T value) {
    auto box = std::make_unique<Box<T>>(std::move(value));
    T& stored = box->value;
    for (auto& [name, old] : entries_) {
      if (name == key) {
        old = std::move(box);
        return stored;
      }
    }
    entries_.emplace_back(key, std::move(box));
    return stored;
  }
  // nullptr if there is no such key. T must be the type that was put.
  template <class T>
  const T* get(std::string_view key) const {
    for (const auto& [name, box] : entries_)
      if (name == key) return &static_cast<const Box<T>&>(*box).value;
    return nullptr;
  }
  template <class T>
  T* get(std::string_view key) {
    return const_cast<T*>(std::as_const(*this).get<T>(key));
  }

  // Annotations that PreBind plugins add to the pod. They are written in the request that binds the
  // pod if the Bind plugin supports it (BindPlugin::writesAnnotations), so that a pod costs one
  // write.
  api::StringMap& annotations() { return annotations_; }

  // The pod's view of the nodes during the current Filter or Score call.
  const NodeView& view() const { return *view_; }
  void setView(const NodeView& view) { view_ = &view; }

 private:
  struct BoxBase {
    virtual ~BoxBase() = default;
  };
  template <class T>
  struct Box : BoxBase {
    explicit Box(T v) : value(std::move(v)) {}
    T value;
  };
  std::vector<std::pair<std::string_view, std::unique_ptr<BoxBase>>> entries_;
  api::StringMap annotations_;
  const NodeView* view_ = &NodeView::none();
};

// Sets the pod's view for the duration of some plugin calls.
class ViewScope {
 public:
  ViewScope(CycleState& state, const NodeView& view) : state_(state) { state.setView(view); }
  ~ViewScope() { state_.setView(NodeView::none()); }
  ViewScope(const ViewScope&) = delete;
  ViewScope& operator=(const ViewScope&) = delete;

 private:
  CycleState& state_;
};

}  // namespace koord::scheduler
