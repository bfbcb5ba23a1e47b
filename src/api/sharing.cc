#include "api/sharing.h"

#include <algorithm>
#include <boost/json/value.hpp>
#include <boost/mp11.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <concepts>
#include <functional>
#include <type_traits>

#include "api/describe_pod.h"

namespace koord::api {

namespace {

template <class T>
using MembersOf = boost::describe::describe_members<T, boost::describe::mod_public>;

template <class T>
concept Described = boost::describe::has_describe_members<T>::value;
template <class T>
concept Many = requires(const T& list) {
  list.begin();
  list.size();
};
template <class T>
concept Perhaps = requires(const T& optional) { optional.has_value(); };

// All of a part is hashed: pods that differ in one argument of a command are not to end in one
// bucket.
class PartHash {
 public:
  std::size_t sum() const { return sum_; }

  void add(std::string_view text) { mix(std::hash<std::string_view>{}(text)); }
  void add(const std::string& text) { add(std::string_view(text)); }
  void add(const Text& text) { add(text.view()); }
  void add(const Quantity& amount) { mix(std::hash<std::int64_t>{}(amount.milliValue())); }
  void add(const json::value& document) { mix(std::hash<json::value>{}(document)); }
  void add(WallTime time) { mix(static_cast<std::size_t>(time.time_since_epoch().count())); }
  void add(std::integral auto number) { mix(static_cast<std::size_t>(number)); }
  template <class T>
  void add(const std::pair<std::string, T>& item) {
    add(item.first);
    add(item.second);
  }
  template <Perhaps T>
  void add(const T& optional) {
    mix(optional.has_value());
    if (optional.has_value()) add(*optional);
  }
  template <Many T>
  void add(const T& list) {
    mix(list.size());
    for (const auto& item : list) add(item);
  }
  template <Described T>
  void add(const T& object) {
    boost::mp11::mp_for_each<MembersOf<T>>([&](auto member) { add(object.*member.pointer); });
  }

 private:
  void mix(std::size_t value) { sum_ ^= value + 0x9e3779b97f4a7c15ULL + (sum_ << 6) + (sum_ >> 2); }
  std::size_t sum_ = 0;
};

template <class T>
bool identical(const T& a, const T& b) {
  return a == b;
}
bool identical(const Quantity& a, const Quantity& b) {
  return a == b && a.format() == b.format();
}
template <class T>
bool identical(const std::pair<std::string, T>& a, const std::pair<std::string, T>& b);
template <Perhaps T>
bool identical(const T& a, const T& b);
template <Many T>
  requires(!std::convertible_to<T, std::string_view>)
bool identical(const T& a, const T& b);
template <Described T>
bool identical(const T& a, const T& b) {
  bool same = true;
  boost::mp11::mp_for_each<MembersOf<T>>(
      [&](auto member) { same = same && identical(a.*member.pointer, b.*member.pointer); });
  return same;
}
template <class T>
bool identical(const std::pair<std::string, T>& a, const std::pair<std::string, T>& b) {
  return a.first == b.first && identical(a.second, b.second);
}
template <Perhaps T>
bool identical(const T& a, const T& b) {
  return a.has_value() == b.has_value() && (!a.has_value() || identical(*a, *b));
}
template <Many T>
  requires(!std::convertible_to<T, std::string_view>)
bool identical(const T& a, const T& b) {
  return std::ranges::equal(
      a, b, [](const auto& one, const auto& other) { return identical(one, other); });
}

template <class Part>
bool hasNoLoad(const Part& part) {
  if constexpr (Perhaps<Part>) {
    return !part.has_value();
  } else if constexpr (std::same_as<Part, Text>) {
    return part.useCount() == 0;  // kept in place
  } else {
    return part.empty();
  }
}

}  // namespace

template <class Part>
struct Sharing<Part>::Known {
  struct Hash {
    std::size_t operator()(const Part& part) const {
      PartHash hash;
      hash.add(part);
      return hash.sum();
    }
  };
  struct Identical {
    bool operator()(const Part& a, const Part& b) const { return identical(a, b); }
  };
  boost::unordered_flat_set<Part, Hash, Identical> parts;
  std::size_t sweepAt = 64;
};

template <class Part>
Sharing<Part>::Sharing() : known_(std::make_unique<Known>()) {}
template <class Part>
Sharing<Part>::Sharing(Sharing&&) noexcept = default;
template <class Part>
Sharing<Part>::~Sharing() = default;

template <class Part>
void Sharing<Part>::share(Part& part) {
  if (hasNoLoad(std::as_const(part))) return;
  auto& parts = known_->parts;
  if (const auto known = parts.find(part); known != parts.end()) {
    part = *known;
    return;
  }
  if (parts.size() >= known_->sweepAt) {
    erase_if(parts, [](const Part& each) { return each.useCount() == 1; });
    known_->sweepAt = std::max<std::size_t>(64, 2 * parts.size());
  }
  if constexpr (requires { part.share(); }) part.share();
  parts.insert(part);
}

template <class Part>
std::size_t Sharing<Part>::size() const {
  return known_->parts.size();
}

template class Sharing<Text>;
template class Sharing<StringMap>;
template class Sharing<ResourceList>;
template class Sharing<List<OwnerReference>>;
template class Sharing<List<Container>>;
template class Sharing<List<Volume>>;
template class Sharing<List<Toleration>>;
template class Sharing<List<TopologySpreadConstraint>>;
template class Sharing<Boxed<Affinity>>;
template class Sharing<List<PodCondition>>;

void PodSharing::share(Pod& pod) {
  api::PodSpec& spec = pod.spec;
  for (Text* word :
       {&spec.restartPolicy, &spec.schedulerName, &spec.priorityClassName, &spec.runtimeClassName,
        &pod.metadata.generateName, &pod.status.phase, &pod.status.qosClass, &pod.status.reason})
    words_.share(*word);
  texts_.share(pod.metadata.labels);
  texts_.share(pod.metadata.annotations);
  texts_.share(spec.nodeSelector);
  owners_.share(pod.metadata.ownerReferences);
  containers_.share(spec.containers);
  containers_.share(spec.initContainers);
  volumes_.share(spec.volumes);
  tolerations_.share(spec.tolerations);
  constraints_.share(spec.topologySpreadConstraints);
  affinities_.share(spec.affinity);
  conditions_.share(pod.status.conditions);  // of pods that became so in the same second
  amounts_.share(spec.overhead);
}

}  // namespace koord::api
