#pragma once

// SharedStates: what the plugins of all profiles keep together: one object of each type, made by
// the plugin that asks for it first. Two profiles that allocate the same devices must not each have
// a table of them.
//
//   DeviceTable& table = handle.shared().of<DeviceTable>(
//       [&] { return std::make_unique<DeviceTable>(handle.cluster()); });
//
// Lives as long as the cluster and the stores: what is kept here may listen to them.

#include <map>
#include <memory>
#include <typeindex>

namespace koord::scheduler {

class SharedStates {
 public:
  SharedStates() = default;
  SharedStates(const SharedStates&) = delete;
  SharedStates& operator=(const SharedStates&) = delete;

  // `make` returns a std::unique_ptr<T>.
  template <class T, class Make>
  T& of(Make&& make) {
    auto it = states_.find(typeid(T));
    if (it == states_.end()) {
      auto state = std::make_unique<State<T>>();
      state->value = make();
      it = states_.emplace(typeid(T), std::move(state)).first;
    }
    return *static_cast<State<T>&>(*it->second).value;
  }

 private:
  struct AnyState {
    virtual ~AnyState() = default;
  };
  template <class T>
  struct State final : AnyState {
    std::unique_ptr<T> value;
  };
  std::map<std::type_index, std::unique_ptr<AnyState>> states_;
};

}  // namespace koord::scheduler
