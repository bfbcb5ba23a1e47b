#include "koordlet/hooks/tcnetworkqos/traffic_control.h"

#include <fmt/core.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "koordlet/hooks/tcnetworkqos/packet_table.h"

// Each pass reads the kernel's state and writes only differences, because a class that is written
// again loses its tokens. The table is replaced as a whole, in one transaction, when the pods'
// addresses change or when the table is missing. New classes are written before the table and
// unwanted classes removed after it, so that no packet is sent into a class that does not exist.
//
// Size of a bucket: the bytes of a millisecond at the class's rate, plus one packet. A tick is 64
// ns.

namespace koord::koordlet {
namespace {

using netlink::attributeIn;
using netlink::Message;
using netlink::readAs;

constexpr std::string_view kKind = "htb";
constexpr std::uint32_t kQdisc = trafficId(0);
constexpr std::uint32_t kMtu = 1600;
constexpr std::uint64_t kTick = 64;  // ns

tcmsg headerOf(int index, std::uint32_t handle, std::uint32_t parent) {
  tcmsg header{};
  header.tcm_family = AF_UNSPEC;
  header.tcm_ifindex = index;
  header.tcm_handle = handle;
  header.tcm_parent = parent;
  return header;
}

std::string_view textOf(std::string_view bytes) {
  return bytes.substr(0, bytes.find('\0'));
}

std::uint32_t atMost32(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, UINT32_MAX));
}

// The time to send the bucket's bytes at that rate, in bytes per second.
std::uint32_t ticksOf(std::uint64_t rate) {
  return atMost32((1'000'000 + kMtu * 1'000'000'000ull / rate) / kTick);
}

tc_ratespec rateSpec(std::uint64_t rate) {
  tc_ratespec spec{};
  spec.linklayer = TC_LINKLAYER_ETHERNET;
  spec.rate = atMost32(rate);
  return spec;
}

// The class in a message of the kernel, which reports rates in whole bytes per second.
std::optional<TrafficControl::Counted> countedIn(std::string_view payload) {
  const auto header = readAs<tcmsg>(payload);
  if (!header || (header->tcm_handle & 0xffff0000) != kQdisc) return std::nullopt;
  const auto kind = attributeIn(payload, sizeof(tcmsg), TCA_KIND);
  const auto options = attributeIn(payload, sizeof(tcmsg), TCA_OPTIONS);
  if (!kind || textOf(*kind) != kKind || !options) return std::nullopt;
  const auto parameters = attributeIn(*options, 0, TCA_HTB_PARMS);
  const auto spec = parameters ? readAs<tc_htb_opt>(*parameters) : std::nullopt;
  if (!spec) return std::nullopt;
  const auto rate = [&](std::uint32_t small, std::uint16_t attribute) {
    const auto large = attributeIn(*options, 0, attribute);
    return (large ? readAs<std::uint64_t>(*large).value_or(small) : small) * 8;
  };
  TrafficControl::Counted counted;
  const std::uint32_t parent = header->tcm_parent == TC_H_ROOT ? 0 : header->tcm_parent & 0xffff;
  counted.held = {header->tcm_handle & 0xffff, parent, rate(spec->rate.rate, TCA_HTB_RATE64),
                  rate(spec->ceil.rate, TCA_HTB_CEIL64), spec->prio};
  if (const auto statistics = attributeIn(payload, sizeof(tcmsg), TCA_STATS))
    if (const auto stats = readAs<tc_stats>(*statistics)) counted.bytes = stats->bytes;
  return counted;
}

// Returns true if the kernel's class is as wanted. The kernel keeps no priority for inner classes,
// and rates in whole bytes per second.
bool holds(const TrafficClass& held, const TrafficClass& wanted) {
  return held.parent == wanted.parent && held.rate / 8 == wanted.rate / 8 &&
         held.ceil / 8 == wanted.ceil / 8 &&
         (wanted.minor == kAllTraffic || held.prio == wanted.prio);
}

}  // namespace

Result<TrafficControl> TrafficControl::open() {
  auto route = netlink::Socket::open(NETLINK_ROUTE);
  if (!route) return fail(std::move(route.error()));
  auto filter = netlink::Socket::open(NETLINK_NETFILTER);
  if (!filter) return fail(std::move(filter.error()));
  return TrafficControl(*std::move(route), *std::move(filter));
}

// The interface of the default route with the smallest metric.
Result<> TrafficControl::findInterface() {
  rtmsg all{};
  all.rtm_family = AF_INET;
  auto routes = route_.dump(Message(RTM_GETROUTE, 0, all));
  if (!routes) return fail(std::move(routes.error()).within("read the routes"));
  std::uint32_t best = UINT32_MAX;
  int index = 0;
  for (const auto& answer : *routes) {
    const auto route = readAs<rtmsg>(answer);
    if (!route || route->rtm_dst_len != 0 || route->rtm_type != RTN_UNICAST ||
        route->rtm_table != RT_TABLE_MAIN)
      continue;
    const auto number = [&](std::uint16_t attribute) {
      const auto bytes = attributeIn(answer, sizeof(rtmsg), attribute);
      return bytes ? readAs<std::uint32_t>(*bytes).value_or(0) : 0;
    };
    if (number(RTA_OIF) == 0 || (index != 0 && number(RTA_PRIORITY) >= best)) continue;
    best = number(RTA_PRIORITY);
    index = static_cast<int>(number(RTA_OIF));
  }
  if (index == 0) return fail(ErrorCode::NotFound, "no default route: no interface to shape");
  char name[IF_NAMESIZE];
  if (!::if_indextoname(static_cast<unsigned>(index), name))
    return fail(errnoError(fmt::format("name interface {}", index), errno));
  index_ = index;
  interface_ = name;
  return {};
}

Result<bool> TrafficControl::hasQdisc() {
  auto qdiscs = route_.dump(Message(RTM_GETQDISC, 0, headerOf(index_, 0, 0)));
  if (!qdiscs) return fail(std::move(qdiscs.error()).within("read the qdiscs"));
  for (const auto& answer : *qdiscs) {
    const auto header = readAs<tcmsg>(answer);
    if (!header || header->tcm_ifindex != index_ || header->tcm_parent != TC_H_ROOT) continue;
    const auto kind = attributeIn(answer, sizeof(tcmsg), TCA_KIND);
    if (!kind || header->tcm_handle == 0) continue;
    if (header->tcm_handle == kQdisc && textOf(*kind) == kKind) return true;
    return fail(
        ErrorCode::Conflict,
        fmt::format("{} has a qdisc {:x}: of kind {} from another program; remove it with 'tc "
                    "qdisc del dev {} root', or use another netQOSPolicy",
                    interface_, header->tcm_handle >> 16, textOf(*kind), interface_));
  }
  return false;
}

Result<> TrafficControl::makeQdisc() {
  Message make(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, headerOf(index_, kQdisc, TC_H_ROOT));
  make.addText(TCA_KIND, std::string(kKind));
  make.nest(TCA_OPTIONS, [&] {
    tc_htb_glob global{};
    global.version = 3;
    global.rate2quantum = 10;
    global.defcls = kSystemTraffic;
    make.addStruct(TCA_HTB_INIT, global);
  });
  auto made = route_.request(std::move(make));
  if (!made) return fail(std::move(made.error()).within("create an htb qdisc on " + interface_));
  return {};
}

Result<> TrafficControl::setClass(const TrafficClass& wanted) {
  const std::uint32_t parent = wanted.parent == 0 ? kQdisc : trafficId(wanted.parent);
  Message set(RTM_NEWTCLASS, NLM_F_CREATE, headerOf(index_, trafficId(wanted.minor), parent));
  set.addText(TCA_KIND, std::string(kKind));
  set.nest(TCA_OPTIONS, [&] {
    const std::uint64_t rate = std::max<std::uint64_t>(wanted.rate / 8, 1);
    const std::uint64_t ceil = std::max<std::uint64_t>(wanted.ceil / 8, 1);
    tc_htb_opt options{};
    options.rate = rateSpec(rate);
    options.ceil = rateSpec(ceil);
    options.buffer = ticksOf(rate);
    options.cbuffer = ticksOf(ceil);
    options.quantum =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(rate / 10, kMtu, 60'000));
    options.prio = wanted.prio;
    set.addStruct(TCA_HTB_PARMS, options);
    if (rate > UINT32_MAX) set.add64(TCA_HTB_RATE64, rate);
    if (ceil > UINT32_MAX) set.add64(TCA_HTB_CEIL64, ceil);
  });
  auto done = route_.request(std::move(set));
  if (!done)
    return fail(std::move(done.error())
                    .within(fmt::format("set class 1:{:x} on {}", wanted.minor, interface_)));
  return {};
}

Result<> TrafficControl::removeClass(std::uint32_t minor) {
  auto done = route_.request(Message(RTM_DELTCLASS, 0, headerOf(index_, trafficId(minor), 0)));
  if (!done && done.error().code != ErrorCode::NotFound)
    return fail(std::move(done.error())
                    .within(fmt::format("remove class 1:{:x} from {}", minor, interface_)));
  return {};
}

Result<std::map<std::uint32_t, TrafficControl::Counted>> TrafficControl::classes() {
  auto found = route_.dump(Message(RTM_GETTCLASS, 0, headerOf(index_, 0, 0)));
  if (!found) return fail(std::move(found.error()).within("read the classes of " + interface_));
  std::map<std::uint32_t, Counted> classes;
  for (const auto& answer : *found)
    if (const auto counted = countedIn(answer)) classes[counted->held.minor] = *counted;
  return classes;
}

Result<> TrafficControl::applyClasses(const std::vector<TrafficClass>& wanted) {
  auto held = classes();
  if (!held) return fail(std::move(held.error()));
  for (const auto& one : wanted) {
    const auto it = held->find(one.minor);
    if (it != held->end() && holds(it->second.held, one)) continue;
    if (auto set = setClass(one); !set) return set;
  }
  return {};
}

Result<> TrafficControl::applyTable(const TrafficPlan& plan, bool byNetCls) {
  auto there = packettable::exists(filter_);
  if (!there) return fail(std::move(there.error()));
  if (*there && installedPlan_ && installedPlan_->addresses == plan.addresses &&
      installedPlan_->cgroups == plan.cgroups)
    return {};
  auto done = packettable::replace(filter_, plan, byNetCls);
  if (!done && !plan.cgroups.empty()) {
    // Kernels without nft_socket do not know the cgroup of a packet.
    if (!std::exchange(reportedCgroups_, true))
      log::warn("traffic of pods in the host network counts as system traffic: {}",
                done.error().message);
    TrafficPlan others = plan;
    others.cgroups.clear();
    done = packettable::replace(filter_, others, byNetCls);
  }
  if (!done) return fail(std::move(done.error()).within("create the table of nf_tables"));
  installedPlan_ = plan;
  return {};
}

// The table marks the qdisc as koordlet's. Without the table, an HTB qdisc with the same handle
// belongs to another program and stays.
Result<> TrafficControl::remove() {
  auto there = packettable::exists(filter_);
  if (!there || !*there) return {};
  if (interface_.empty() && !findInterface()) return {};
  if (const auto ours = hasQdisc(); ours && *ours) {
    auto gone = route_.request(Message(RTM_DELQDISC, 0, headerOf(index_, kQdisc, TC_H_ROOT)));
    if (!gone && gone.error().code != ErrorCode::NotFound)
      return fail(std::move(gone.error()).within("remove the qdisc of " + interface_));
  }
  auto done = packettable::remove(filter_);
  if (!done) return fail(std::move(done.error()).within("remove the table of nf_tables"));
  installedPlan_.reset();
  return {};
}

Result<> TrafficControl::apply(const TrafficPlan& plan, bool byNetCls) {
  if (plan.classes.empty()) return remove();
  if (auto found = findInterface(); !found) return found;
  const auto ours = hasQdisc();
  if (!ours) return fail(ours.error());
  if (!*ours)
    if (auto made = makeQdisc(); !made) return made;
  if (auto set = applyClasses(plan.classes); !set) return set;
  if (auto set = applyTable(plan, byNetCls); !set) return set;
  const auto held = classes();
  if (!held) return fail(held.error());
  for (const auto& [minor, counted] : *held)
    if (std::ranges::find(plan.classes, minor, &TrafficClass::minor) == plan.classes.end())
      if (auto removed = removeClass(minor); !removed) return removed;
  return {};
}

}  // namespace koord::koordlet
