#include "simulation/features/plain_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <list>

#include "api/selector.h"
#include "base/quantity.h"

namespace koord::simulation {

namespace {

const std::string kGpus = "dra.example.com";

std::string textIn(const api::SliceDevice& device, const std::string& attribute) {
  const auto it = device.attributes.find(attribute);
  return it == device.attributes.end() ? "" : it->second.string.value_or("");
}

// The value as text; "" if the device has none.
std::string valueOf(const std::string& driver, const api::SliceDevice& device,
                    const std::string& name) {
  if (!name.starts_with(driver + "/")) return "";
  const auto it = device.attributes.find(name.substr(driver.size() + 1));
  if (it == device.attributes.end()) return "";
  return it->second.string ? "s" + *it->second.string
                           : fmt::format("i{}", it->second.int_.value_or(0));
}

// A request, or one alternative of it.
struct Wish {
  ClaimObject claim;
  std::string name;  // "request" or "request/alternative"
  std::string request;
  std::string class_;
  const api::List<api::DeviceSelector>* selectors = nullptr;
  const api::List<api::DeviceToleration>* tolerations = nullptr;
  const api::CapacityRequirements* capacity = nullptr;
  bool all = false;
  bool admin = false;
  std::size_t count = 1;
};

template <class Request>
Wish wishOf(const ClaimObject& claim, const std::string& request, std::string name,
            const Request& from) {
  Wish wish{claim, std::move(name), request, from.deviceClassName};
  wish.selectors = &from.selectors;
  wish.tolerations = &from.tolerations;
  wish.capacity = from.capacity ? &*from.capacity : nullptr;
  wish.all = from.allocationMode == "All";
  wish.count = static_cast<std::size_t>(std::max<std::int64_t>(from.count, 1));
  if constexpr (requires { from.adminAccess; }) wish.admin = from.adminAccess;
  return wish;
}

std::vector<std::vector<Wish>> wishesOf(const ClaimObject& claim) {
  std::vector<std::vector<Wish>> wishes;
  for (const auto& request : std::as_const(claim->spec.devices.requests)) {
    auto& alternatives = wishes.emplace_back();
    if (request.exactly)
      alternatives.push_back(wishOf(claim, request.name, request.name, *request.exactly));
    for (const auto& each : request.firstAvailable)
      alternatives.push_back(wishOf(claim, request.name, request.name + "/" + each.name, each));
  }
  return wishes;
}

bool toleratesTaints(const Wish& wish, const api::SliceDevice& device) {
  return std::ranges::all_of(device.taints, [&](const auto& taint) {
    if (taint.effect != "NoSchedule" && taint.effect != "NoExecute") return true;
    return std::ranges::any_of(*wish.tolerations, [&](const auto& each) {
      return (each.effect.empty() || each.effect == taint.effect) &&
             (each.key.empty() || each.key == taint.key) &&
             (each.operator_ == "Exists" || each.value == taint.value);
    });
  });
}

bool applies(const api::DeviceConstraint& constraint, const Wish& wish) {
  return constraint.requests.empty() ||
         std::ranges::any_of(constraint.requests, [&](const auto& name) {
           return name == wish.request || name == wish.name;
         });
}

struct Place {
  DeviceName name;
  const api::SliceDevice* device = nullptr;
  const std::map<std::string, std::int64_t>* counters = nullptr;  // of its pool
};

}  // namespace

const std::vector<PlainSelector>& PlainSelector::all() {
  using Device = api::SliceDevice;
  static const std::vector<PlainSelector> kAll{
      {R"(device.attributes["dra.example.com"].model == "a")",
       [](const std::string&, const Device& device) { return textIn(device, "model") == "a"; }},
      {R"(device.attributes["dra.example.com"].model in ["b", "p"])",
       [](const std::string&, const Device& device) {
         return textIn(device, "model") == "b" || textIn(device, "model") == "p";
       }},
      {R"(device.attributes["dra.example.com"].numa == 0)",
       [](const std::string&, const Device& device) {
         return device.attributes.at("numa").int_ == 0;
       }},
      {R"(device.capacity["dra.example.com"].memory.compareTo(quantity("12Gi")) >= 0)",
       [](const std::string&, const Device& device) {
         return device.capacity.at("memory").value.value() >= std::int64_t{12} << 30;
       }},
      {R"(device.driver == "dra.example.com")",
       [](const std::string& driver, const Device&) { return driver == kGpus; }},
      {R"(device.driver == "net.example.com")",
       [](const std::string& driver, const Device&) { return driver == "net.example.com"; }},
      {R"(device.driver == "dra.example.com" && device.allowMultipleAllocations)",
       [](const std::string& driver, const Device& device) {
         return driver == kGpus && device.allowMultipleAllocations;
       }},
  };
  return kAll;
}

bool plainReaches(const api::NodeSelector& selector, const api::Node& node) {
  return api::NodeSelectorMatcher::compileLazily(selector)
      .matches(node.metadata.labels, node.metadata.name)
      .value_or(false);
}

bool plainReaches(const api::ResourceSliceSpec& slice, const api::Node& node) {
  if (slice.allNodes) return true;
  if (slice.nodeSelector) return plainReaches(*slice.nodeSelector, node);
  return slice.nodeName == node.metadata.name;
}

bool plainConsumption(const api::CapacityRequirements* wanted, const api::SliceDevice& device,
                      api::ResourceList& consumed) {
  if (wanted)
    for (const auto& [name, amount] : wanted->requests)
      if (!device.capacity.contains(name)) return false;
  for (const auto& [name, capacity] : device.capacity) {
    const auto* policy = capacity.requestPolicy ? &*capacity.requestPolicy : nullptr;
    const auto request = wanted ? wanted->requests.find(name) : api::ResourceList::const_iterator{};
    std::int64_t amount = policy ? policy->default_->value() : capacity.value.value();
    if (wanted && request != wanted->requests.end()) {
      amount = request->second.value();
      if (policy) {
        const std::int64_t step = policy->validRange->step->value();
        amount = std::max(policy->validRange->min->value(), (amount + step - 1) / step * step);
      }
    }
    if (amount > capacity.value.value()) return false;
    consumed[name] = Quantity::of(amount, Quantity::Format::BinarySI);
  }
  return true;
}

// --- PlainUse.

void PlainUse::add(const DeviceName& name, const api::SliceDevice* device,
                   const api::ResourceList* consumed) {
  const bool known = whole_.contains(name) || shares_.contains(name);
  if (consumed) {
    for (const auto& [capacity, amount] : *consumed) shares_[name][capacity] += amount.value();
    shares_[name];
  } else {
    whole_.insert(name);
  }
  if (!known && device) addForAdmin(name, *device);
}

void PlainUse::addForAdmin(const DeviceName& name, const api::SliceDevice& device) {
  for (const auto& set : device.consumesCounters)
    for (const auto& [counter, amount] : set.counters)
      counters_[{std::get<0>(name), std::get<1>(name)}][set.counterSet + "/" + counter] +=
          amount.value.value();
}

void PlainUse::add(const api::AllocationResult& allocation, const Find& find) {
  for (const auto& result : allocation.devices.results) {
    if (result.adminAccess.value_or(false)) continue;
    const DeviceName name{result.driver, result.pool, result.device};
    add(name, find(name), result.shareID ? &result.consumedCapacity : nullptr);
  }
}

std::string PlainUse::conflict(const DeviceName& name, const api::SliceDevice& device,
                               const api::ResourceList* consumed,
                               const std::map<std::string, std::int64_t>& totals) const {
  if (whole_.contains(name)) return "is in use";
  const auto shares = shares_.find(name);
  if (!consumed && shares != shares_.end()) return "is shared by others";
  if (consumed && shares != shares_.end())
    for (const auto& [capacity, amount] : *consumed) {
      const auto used = shares->second.find(capacity);
      const std::int64_t sum = amount.value() + (used == shares->second.end() ? 0 : used->second);
      if (sum > device.capacity.at(capacity).value.value())
        return fmt::format("would give away {} of its {}", sum, capacity);
    }
  // The counters of a shared device count already.
  return shares != shares_.end() ? "" : conflictForAdmin(name, device, totals);
}

std::string PlainUse::conflictForAdmin(const DeviceName& name, const api::SliceDevice& device,
                                       const std::map<std::string, std::int64_t>& totals) const {
  const auto pool = counters_.find({std::get<0>(name), std::get<1>(name)});
  for (const auto& set : device.consumesCounters)
    for (const auto& [counter, amount] : set.counters) {
      const std::string key = set.counterSet + "/" + counter;
      std::int64_t sum = amount.value.value();
      if (pool != counters_.end() && pool->second.contains(key)) sum += pool->second.at(key);
      const auto total = totals.find(key);
      if (sum > (total == totals.end() ? 0 : total->second))
        return fmt::format("needs {} of the counter {}", sum, key);
    }
  return "";
}

// --- Trying all combinations.

class PlainClaims::Search {
  using Pool = std::pair<std::string, std::string>;

 public:
  Search(const PlainClaims& world, const api::Node& node, PlainUse use)
      : world_(world), use_(std::move(use)) {
    std::map<Pool, std::int64_t> newest;
    std::map<Pool, std::vector<SliceObject>> pools;
    for (const SliceObject& slice : world.slices) {
      const Pool pool{slice->spec.driver, slice->spec.pool.name};
      newest[pool] = std::max(newest[pool], slice->spec.pool.generation);
    }
    // A request for all devices fails on the nodes of an incomplete pool, and Filter's error ends
    // the attempt for all nodes.
    std::map<Pool, std::int64_t> missing;
    for (const SliceObject& slice : world.slices) {
      const auto& its = slice->spec.pool;
      const Pool pool{slice->spec.driver, its.name};
      if (its.generation == newest[pool])
        --missing.try_emplace(pool, its.resourceSliceCount).first->second;
    }
    for (const auto& [pool, count] : missing) incomplete_ |= count != 0;
    for (const SliceObject& slice : world.slices)
      if (const Pool pool{slice->spec.driver, slice->spec.pool.name};
          slice->spec.pool.generation == newest[pool] && plainReaches(slice->spec, node))
        pools[pool].push_back(slice);
    for (const auto& [pool, all] : pools) {
      auto& counters = counters_[pool];
      for (const SliceObject& slice : all)
        for (const auto& set : slice->spec.sharedCounters)
          for (const auto& [name, counter] : set.counters)
            counters[set.name + "/" + name] = counter.value.value();
      if (all.size() != static_cast<std::size_t>(all.front()->spec.pool.resourceSliceCount))
        continue;
      for (const SliceObject& slice : all)
        for (const auto& device : slice->spec.devices)
          places_.push_back({{pool.first, pool.second, device.name}, &device, &counters});
    }
    // Pools with binding conditions come last.
    std::set<Pool> late;
    for (const Place& place : places_)
      if (!place.device->bindingConditions.empty()) late.insert(poolOf(place));
    std::ranges::stable_partition(
        places_, [&](const Place& place) { return !late.contains(poolOf(place)); });
  }

  void want(const ClaimObject& claim) {
    for (auto& alternatives : wishesOf(claim)) wishes_.push_back(std::move(alternatives));
  }
  bool undecided() const {
    for (const auto& alternatives : wishes_)
      for (const Wish& wish : alternatives) {
        if (!wish.all) continue;
        if (incomplete_) return true;
        for (const Place& place : places_)
          if (selects(wish, place) &&
              (place.device->allowMultipleAllocations || !place.device->taints.empty()))
            return true;
      }
    return false;
  }
  bool run() { return place(0); }
  std::vector<std::string> chosen() const {
    std::vector<std::string> names;
    for (const Wish* wish : chosen_) names.push_back(wish->claim->metadata.uid + ": " + wish->name);
    return names;
  }

  // Takes what the allocation says; returns what is wrong with it.
  std::string follow(const ClaimObject& claim, const api::AllocationResult& allocation) {
    std::map<std::string, std::size_t> counts;
    const auto wishes = wishesOf(claim);
    for (const auto& result : allocation.devices.results) {
      ++counts[result.request];
      const DeviceName name{result.driver, result.pool, result.device};
      const auto at = std::ranges::find(places_, name, &Place::name);
      const std::string what = fmt::format("{}/{}", result.pool, result.device);
      if (at == places_.end()) return what + " is not there";
      const Wish* wish = nullptr;
      for (const auto& alternatives : wishes)
        for (const Wish& each : alternatives)
          if (each.name == result.request) wish = &kept_.emplace_back(each);
      if (!wish) return what + " is for no request";
      if (!selects(*wish, *at)) return what + " is not what " + wish->name + " asks for";
      if (!toleratesTaints(*wish, *at->device)) return what + " has a taint";
      if (result.adminAccess.value_or(false) != wish->admin) return what + " is not for admins";
      if (result.shareID.has_value() != at->device->allowMultipleAllocations)
        return what + " is shared or not";
      api::ResourceList consumed;
      if (!plainConsumption(wish->capacity, *at->device, consumed))
        return what + " has not the capacity";
      if (result.shareID && consumed != result.consumedCapacity)
        return what + " gives another capacity";
      if (std::string why = take(*wish, *at); !why.empty()) return what + " " + why;
    }
    for (const auto& alternatives : wishes) {
      std::size_t used = 0;
      for (const Wish& wish : alternatives) {
        if (!counts.contains(wish.name)) continue;
        ++used;
        if (!wish.all && counts[wish.name] != wish.count)
          return fmt::format("{} has {} devices", wish.name, counts[wish.name]);
      }
      if (used != 1) return alternatives.front().request + " has not one alternative";
    }
    return "";
  }

 private:
  static Pool poolOf(const Place& place) {
    return {std::get<0>(place.name), std::get<1>(place.name)};
  }

  bool selects(const Wish& wish, const Place& place) const {
    const auto class_ = world_.classes.find(wish.class_);
    const auto matches = [&](const auto& selector) {
      const auto& all = PlainSelector::all();
      const auto known =
          std::ranges::find(all, selector.cel->expression, &PlainSelector::expression);
      return known->matches(std::get<0>(place.name), *place.device);
    };
    return class_ != world_.classes.end() &&
           std::ranges::all_of(class_->second->spec.selectors, matches) &&
           std::ranges::all_of(*wish.selectors, matches);
  }

  struct Taken {
    const Wish* wish;
    Place place;
  };

  // "" if the device can be taken, and is.
  std::string take(const Wish& wish, const Place& place) {
    const bool share = place.device->allowMultipleAllocations;
    api::ResourceList consumed;
    if (!plainConsumption(wish.capacity, *place.device, consumed)) return "has not the capacity";
    if (wish.admin) {
      if (!share && std::ranges::any_of(taken_, [&](const Taken& other) {
            return other.wish->claim == wish.claim && other.place.name == place.name;
          }))
        return "is in the claim already";
      if (std::string why = use_.conflictForAdmin(place.name, *place.device, *place.counters);
          !why.empty())
        return why;
    } else if (!share && std::ranges::any_of(taken_, [&](const Taken& other) {
                 return other.wish->admin && other.place.name == place.name;
               })) {
      return "is seen by an administrator of the pod";
    } else if (std::string why = use_.conflict(place.name, *place.device,
                                               share ? &consumed : nullptr, *place.counters);
               !why.empty()) {
      return why;
    }
    for (const auto& constraint : wish.claim->spec.devices.constraints) {
      if (!applies(constraint, wish)) continue;
      const bool match = !constraint.matchAttribute.empty();
      const auto& attribute = match ? constraint.matchAttribute : constraint.distinctAttribute;
      const auto value = [&](const Place& of) {
        return valueOf(std::get<0>(of.name), *of.device, attribute);
      };
      const std::string own = value(place);
      if (own.empty()) return "lacks " + attribute;
      for (const Taken& other : taken_)
        if (other.wish->claim == wish.claim && applies(constraint, *other.wish) &&
            (value(other.place) == own) != match)
          return "has a wrong " + attribute;
    }
    before_.push_back(use_);
    taken_.push_back({&wish, place});
    if (wish.admin)
      use_.addForAdmin(place.name, *place.device);
    else
      use_.add(place.name, place.device, share ? &consumed : nullptr);
    return "";
  }
  void giveBack() {
    use_ = std::move(before_.back());
    before_.pop_back();
    taken_.pop_back();
  }

  bool place(std::size_t group) {
    if (group == wishes_.size()) return true;
    for (const Wish& wish : wishes_[group]) {
      chosen_.push_back(&wish);
      if (wish.all ? placeAll(group, wish, 0) : placeSome(group, wish, 0, 0)) return true;
      chosen_.pop_back();
    }
    return false;
  }
  bool placeSome(std::size_t group, const Wish& wish, std::size_t number, std::size_t start) {
    if (number == wish.count) return place(group + 1);
    for (std::size_t i = start; i < places_.size(); ++i) {
      if (!selects(wish, places_[i]) || !toleratesTaints(wish, *places_[i].device) ||
          !take(wish, places_[i]).empty())
        continue;
      if (placeSome(group, wish, number + 1, i + 1)) return true;
      giveBack();
    }
    return false;
  }
  bool placeAll(std::size_t group, const Wish& wish, std::size_t from) {
    const std::size_t before = taken_.size();
    for (std::size_t i = from; i < places_.size(); ++i)
      if (selects(wish, places_[i]) && !take(wish, places_[i]).empty()) {
        while (taken_.size() > before) giveBack();
        return false;
      }
    if (taken_.size() > before && place(group + 1)) return true;
    while (taken_.size() > before) giveBack();
    return false;
  }

  const PlainClaims& world_;
  PlainUse use_;
  std::map<std::pair<std::string, std::string>, std::map<std::string, std::int64_t>> counters_;
  std::vector<Place> places_;
  bool incomplete_ = false;
  std::vector<std::vector<Wish>> wishes_;
  std::vector<const Wish*> chosen_;
  std::vector<Taken> taken_;
  std::vector<PlainUse> before_;
  std::list<Wish> kept_;
};

const api::SliceDevice* PlainClaims::find(const DeviceName& name) const {
  const api::SliceDevice* found = nullptr;
  std::int64_t newest = -1;
  for (const SliceObject& slice : slices) {
    if (slice->spec.driver != std::get<0>(name) || slice->spec.pool.name != std::get<1>(name) ||
        slice->spec.pool.generation < newest)
      continue;
    if (slice->spec.pool.generation > newest) found = nullptr;
    newest = slice->spec.pool.generation;
    for (const auto& device : slice->spec.devices)
      if (device.name == std::get<2>(name)) found = &device;
  }
  return found;
}

PlainUse PlainClaims::useWithout(const std::set<std::string>& uids) const {
  PlainUse use;
  std::set<std::string> counted = uids;
  const auto add = [&](const std::string& uid, const api::AllocationResult& allocation) {
    if (counted.insert(uid).second)
      use.add(allocation, [this](const DeviceName& name) { return find(name); });
  };
  for (const auto& [key, claim] : claims)
    if (claim->status.allocation) add(claim->metadata.uid, *claim->status.allocation);
  for (const auto& [uid, allocation] : inFlight) add(uid, *allocation);
  return use;
}

std::vector<ClaimObject> PlainClaims::claimsOf(const api::Pod& pod, std::string& problem) const {
  std::vector<ClaimObject> found;
  for (const auto& entry : pod.spec.resourceClaims) {
    std::optional<std::string> name = entry.resourceClaimName;
    if (!name)
      for (const auto& status : pod.status.resourceClaimStatuses)
        if (status.name == entry.name) {
          if (!status.resourceClaimName) name = "";
          name = status.resourceClaimName;
        }
    if (!name) {
      problem = "the claim of " + entry.name + " is missing";
      continue;
    }
    const auto it = claims.find(pod.metadata.namespace_ + "/" + *name);
    if (it == claims.end()) {
      problem = *name + " is missing";
    } else if (it->second->metadata.deletionTimestamp) {
      problem = *name + " goes";
    } else if (!entry.resourceClaimName &&
               std::ranges::none_of(it->second->metadata.ownerReferences, [&](const auto& owner) {
                 return owner.uid == pod.metadata.uid;
               })) {
      problem = *name + " is another pod's";
    } else if (std::ranges::find(found, it->second) == found.end()) {
      found.push_back(it->second);
    }
  }
  return found;
}

PlainClaims::Verdict PlainClaims::ask(const api::Pod& pod, const api::Node& node) const {
  const auto lacks = [](std::string why) { return Verdict{Answer::Lacks, std::move(why), {}}; };
  std::string problem;
  const auto all = claimsOf(pod, problem);
  if (!problem.empty()) return lacks(problem);
  std::vector<ClaimObject> wanted;
  for (const ClaimObject& claim : all) {
    if (!claim->status.allocation) {
      if (inFlight.contains(claim->metadata.uid)) return lacks("a claim is being allocated");
      wanted.push_back(claim);
      continue;
    }
    const auto& where = claim->status.allocation->nodeSelector;
    if (where && !plainReaches(*where, node)) return lacks("a claim is elsewhere");
    if (std::ranges::any_of(std::as_const(*claim->status.allocation).devices.results,
                            [](const auto& result) { return !result.bindingConditions.empty(); }))
      return {Answer::Undecided, "a device may be lost", {}};
  }
  if (wanted.empty()) return {};
  Search search(*this, node, useWithout({}));
  for (const ClaimObject& claim : wanted) {
    for (const auto& alternatives : wishesOf(claim))
      for (const Wish& wish : alternatives)
        if (!classes.contains(wish.class_)) return lacks("class " + wish.class_ + " is missing");
    search.want(claim);
  }
  if (search.undecided()) return {Answer::Undecided, "all devices", {}};
  if (!search.run()) return lacks("no combination of devices fits");
  return {Answer::Fits, "", search.chosen()};
}

std::string PlainClaims::wrongWith(
    const std::vector<std::pair<ClaimObject, AllocationObject>>& allocations,
    const api::Node& node) const {
  std::set<std::string> own;
  for (const auto& [claim, allocation] : allocations) own.insert(claim->metadata.uid);
  Search search(*this, node, useWithout(own));
  for (const auto& [claim, allocation] : allocations) {
    if (std::string why = search.follow(claim, *allocation); !why.empty())
      return claim->metadata.name + ": " + why;
    if (allocation->nodeSelector && !plainReaches(*allocation->nodeSelector, node))
      return claim->metadata.name + ": the allocation is not for the node";
  }
  return "";
}

}  // namespace koord::simulation
