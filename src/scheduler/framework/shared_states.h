#pragma once

// SharedStates: state that the plugins of all profiles share: one object of each type, created by
// the first plugin that asks for it. Two profiles that allocate the same devices must not have a
// table each.
//
//   DeviceTable& table = handle.shared().of<DeviceTable>(
//       [&] { return std::make_unique<DeviceTable>(handle.cluster()); });
//
// Lives as long as the cluster and the stores, so the objects may listen to them.

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
    if (AnyState* known = find(typeid(T))) return *static_cast<State<T>&>(*known).value;
    auto state = std::make_unique<State<T>>();
    state->value = make();
    T& value = *state->value;
    add(typeid(T), std::move(state));
    return value;
  }

 private:
  struct AnyState {
    virtual ~AnyState() = default;
  };
  template <class T>
  struct State final : AnyState {
    std::unique_ptr<T> value;
  };
  AnyState* find(std::type_index type) const;
  void add(std::type_index type, std::unique_ptr<AnyState> state);

  std::map<std::type_index, std::unique_ptr<AnyState>> states_;
};

}  // namespace koord::scheduler
