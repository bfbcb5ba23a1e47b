#include "koordlet/hooks/tcnetworkqos/packet_table.h"

#include <arpa/inet.h>
#include <libnftnl/chain.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <memory>
#include <set>

// The table, as nft(8) shows it:
//
//   table inet koordlet_network_qos {
//     map class4 { type ipv4_addr : classid; elements = { 10.0.0.7 : 1:3, ... } }
//     map class6 { type ipv6_addr : classid }
//     chain postrouting {
//       type filter hook postrouting priority mangle
//       meta cgroup & 0xffff0000 == 0x10000 meta priority set meta cgroup
//       meta nfproto ipv4 meta priority set ip saddr map @class4
//       meta nfproto ipv6 meta priority set ip6 saddr map @class6
//     }
//     map cgroup3 { type cgroupsv2 : classid; elements = { kubepods/burstable/pod...: 1:3, ... } }
//     chain output {
//       type filter hook output priority mangle
//       meta priority set socket cgroupv2 level 3 map @cgroup3
//     }
//   }
//
// Packets of processes in the host network are classified by cgroup: with net_cls by the class id
// of the cgroup, on cgroup version 2 by the pod's cgroup itself, with a map for each depth at which
// pods are. The latter is done in the output hook: later, the kernel does not know the socket.
//
// If a packet's address is in no map, the packet keeps its priority, so it falls into the qdisc's
// default class. Priority "mangle" is before masquerading, so the address is the pod's own.

namespace koord::koordlet::packettable {
namespace {

using netlink::Batch;

constexpr const char* kTable = "koordlet_network_qos";
struct Chain {
  const char* name;
  std::uint32_t hook;
};
constexpr Chain kPostrouting{"postrouting", NF_INET_POST_ROUTING};
constexpr Chain kOutput{"output", NF_INET_LOCAL_OUT};
// Types of keys and values. Only nft(8) uses them, to print the elements.
constexpr std::uint32_t kIpv4Type = 7, kIpv6Type = 8, kClassIdType = 23, kCgroupType = 46;
constexpr std::uint32_t kMap4 = 1, kMap6 = 2, kCgroupMaps = 10;
constexpr std::int32_t kManglePriority = -150;

// A map from keys to classes.
struct ClassMap {
  std::string name;
  std::uint32_t id, keyType, keySize;
};
struct Family {
  int family;
  std::uint8_t protocol;
  ClassMap map;
  std::uint32_t sourceOffset;
};
const Family kFamilies[] = {
    {AF_INET, NFPROTO_IPV4, {"class4", kMap4, kIpv4Type, 4}, 12},
    {AF_INET6, NFPROTO_IPV6, {"class6", kMap6, kIpv6Type, 16}, 8},
};

template <auto kFree>
struct Free {
  void operator()(auto* object) const { kFree(object); }
};
using TablePtr = std::unique_ptr<nftnl_table, Free<nftnl_table_free>>;
using ChainPtr = std::unique_ptr<nftnl_chain, Free<nftnl_chain_free>>;
using SetPtr = std::unique_ptr<nftnl_set, Free<nftnl_set_free>>;
using ElementsPtr = std::unique_ptr<nftnl_set_elems_iter, Free<nftnl_set_elems_iter_destroy>>;
using RulePtr = std::unique_ptr<nftnl_rule, Free<nftnl_rule_free>>;

void addTable(Batch& batch, std::uint16_t type, std::uint16_t flags) {
  const TablePtr table(nftnl_table_alloc());
  nftnl_table_set_str(table.get(), NFTNL_TABLE_NAME, kTable);
  batch.add(type, flags, [&](nlmsghdr* m) { nftnl_table_nlmsg_build_payload(m, table.get()); });
}

// Creates the table first, so that the removal does not fail if the table is absent.
void addRemoval(Batch& batch) {
  addTable(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE);
  addTable(batch, NFT_MSG_DELTABLE, 0);
}

void addChain(Batch& batch, const Chain& wanted) {
  const ChainPtr chain(nftnl_chain_alloc());
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TABLE, kTable);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_NAME, wanted.name);
  nftnl_chain_set_str(chain.get(), NFTNL_CHAIN_TYPE, "filter");
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_HOOKNUM, wanted.hook);
  nftnl_chain_set_s32(chain.get(), NFTNL_CHAIN_PRIO, kManglePriority);
  nftnl_chain_set_u32(chain.get(), NFTNL_CHAIN_POLICY, NF_ACCEPT);
  batch.add(NFT_MSG_NEWCHAIN, NLM_F_CREATE,
            [&](nlmsghdr* m) { nftnl_chain_nlmsg_build_payload(m, chain.get()); });
}

using Elements = std::vector<std::pair<std::string, std::uint32_t>>;

Elements elementsOf(const Family& family, const std::map<std::string, std::uint32_t>& addresses) {
  Elements elements;
  for (const auto& [text, minor] : addresses) {
    char address[sizeof(in6_addr)];
    if (::inet_pton(family.family, text.c_str(), address) == 1)
      elements.emplace_back(std::string(address, family.map.keySize), trafficId(minor));
  }
  return elements;
}

// A cgroup's id is a number in the host's byte order.
Elements elementsOf(int level, const std::map<std::uint64_t, TrafficPlan::OfCgroup>& cgroups) {
  Elements elements;
  for (const auto& [id, of] : cgroups)
    if (of.level == level)
      elements.emplace_back(std::string(reinterpret_cast<const char*>(&id), sizeof id),
                            trafficId(of.minor));
  return elements;
}

void addMap(Batch& batch, const ClassMap& map, const Elements& elements) {
  const SetPtr set(nftnl_set_alloc());
  nftnl_set_set_str(set.get(), NFTNL_SET_TABLE, kTable);
  nftnl_set_set_str(set.get(), NFTNL_SET_NAME, map.name.c_str());
  nftnl_set_set_u32(set.get(), NFTNL_SET_ID, map.id);
  nftnl_set_set_u32(set.get(), NFTNL_SET_FLAGS, NFT_SET_MAP);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_TYPE, map.keyType);
  nftnl_set_set_u32(set.get(), NFTNL_SET_KEY_LEN, map.keySize);
  nftnl_set_set_u32(set.get(), NFTNL_SET_DATA_TYPE, kClassIdType);
  nftnl_set_set_u32(set.get(), NFTNL_SET_DATA_LEN, sizeof(std::uint32_t));
  batch.add(NFT_MSG_NEWSET, NLM_F_CREATE,
            [&](nlmsghdr* m) { nftnl_set_nlmsg_build_payload(m, set.get()); });
  if (elements.empty()) return;
  for (const auto& [key, value] : elements) {
    nftnl_set_elem* const element = nftnl_set_elem_alloc();
    nftnl_set_elem_set(element, NFTNL_SET_ELEM_KEY, key.data(),
                       static_cast<std::uint32_t>(key.size()));
    // A priority is a number in the host's byte order.
    nftnl_set_elem_set(element, NFTNL_SET_ELEM_DATA, &value, sizeof value);
    nftnl_set_elem_add(set.get(), element);
  }
  // Each message contains as many elements as fit into its 64 KiB.
  const ElementsPtr next(nftnl_set_elems_iter_create(set.get()));
  for (bool more = true; more;)
    batch.add(NFT_MSG_NEWSETELEM, NLM_F_CREATE, [&](nlmsghdr* m) {
      more = nftnl_set_elems_nlmsg_build_payload_iter(m, next.get()) > 0;
    });
}

// Expressions are evaluated one after the other. Each loads register 1, changes it, or uses it.
class Rule {
 public:
  explicit Rule(const Chain& chain) : rule_(nftnl_rule_alloc()) {
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_TABLE, kTable);
    nftnl_rule_set_str(rule_.get(), NFTNL_RULE_CHAIN, chain.name);
  }
  void addTo(Batch& batch) const {
    batch.add(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND,
              [&](nlmsghdr* m) { nftnl_rule_nlmsg_build_payload(m, rule_.get()); });
  }

  void load(nft_meta_keys key) {
    add("meta", {{NFTNL_EXPR_META_KEY, key}, {NFTNL_EXPR_META_DREG, NFT_REG_1}});
  }
  void setPriority() {
    add("meta", {{NFTNL_EXPR_META_KEY, NFT_META_PRIORITY}, {NFTNL_EXPR_META_SREG, NFT_REG_1}});
  }
  template <class T>
  void mustBe(const T& value) {
    auto* const compare =
        add("cmp", {{NFTNL_EXPR_CMP_SREG, NFT_REG_1}, {NFTNL_EXPR_CMP_OP, NFT_CMP_EQ}});
    nftnl_expr_set(compare, NFTNL_EXPR_CMP_DATA, &value, sizeof value);
  }
  void mask(std::uint32_t bits) {
    constexpr std::uint32_t kNothing = 0;
    auto* const bitwise = add("bitwise", {{NFTNL_EXPR_BITWISE_SREG, NFT_REG_1},
                                          {NFTNL_EXPR_BITWISE_DREG, NFT_REG_1},
                                          {NFTNL_EXPR_BITWISE_LEN, sizeof bits}});
    nftnl_expr_set(bitwise, NFTNL_EXPR_BITWISE_MASK, &bits, sizeof bits);
    nftnl_expr_set(bitwise, NFTNL_EXPR_BITWISE_XOR, &kNothing, sizeof kNothing);
  }
  void loadSource(const Family& family) {
    add("payload", {{NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1},
                    {NFTNL_EXPR_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER},
                    {NFTNL_EXPR_PAYLOAD_OFFSET, family.sourceOffset},
                    {NFTNL_EXPR_PAYLOAD_LEN, family.map.keySize}});
  }
  // The ancestor of the sender's cgroup at that depth.
  void loadCgroup(int level) {
    add("socket", {{NFTNL_EXPR_SOCKET_KEY, NFT_SOCKET_CGROUPV2},
                   {NFTNL_EXPR_SOCKET_DREG, NFT_REG_1},
                   {NFTNL_EXPR_SOCKET_LEVEL, static_cast<std::uint32_t>(level)}});
  }
  void lookUp(const ClassMap& map) {
    auto* const lookup = add("lookup", {{NFTNL_EXPR_LOOKUP_SET_ID, map.id},
                                        {NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1},
                                        {NFTNL_EXPR_LOOKUP_DREG, NFT_REG_1}});
    nftnl_expr_set_str(lookup, NFTNL_EXPR_LOOKUP_SET, map.name.c_str());
  }

 private:
  struct Number {
    std::uint16_t attribute;
    std::uint32_t value;
  };
  nftnl_expr* add(const char* name, std::initializer_list<Number> numbers) {
    nftnl_expr* const expression = nftnl_expr_alloc(name);
    for (const auto& [attribute, value] : numbers) nftnl_expr_set_u32(expression, attribute, value);
    nftnl_rule_add_expr(rule_.get(), expression);  // the rule owns it
    return expression;
  }

  RulePtr rule_;
};

void addNetClsRule(Batch& batch) {
  Rule rule(kPostrouting);
  rule.load(NFT_META_CGROUP);
  rule.mask(0xffff0000);
  rule.mustBe(trafficId(0));
  rule.load(NFT_META_CGROUP);
  rule.setPriority();
  rule.addTo(batch);
}

void addAddressRule(Batch& batch, const Family& family) {
  Rule rule(kPostrouting);
  rule.load(NFT_META_NFPROTO);
  rule.mustBe(family.protocol);
  rule.loadSource(family);
  rule.lookUp(family.map);
  rule.setPriority();
  rule.addTo(batch);
}

void addCgroupRule(Batch& batch, int level, const ClassMap& map) {
  Rule rule(kOutput);
  rule.loadCgroup(level);
  rule.lookUp(map);
  rule.setPriority();
  rule.addTo(batch);
}

void addContents(Batch& batch, const TrafficPlan& plan, bool byNetCls) {
  addTable(batch, NFT_MSG_NEWTABLE, NLM_F_CREATE);
  addChain(batch, kPostrouting);
  if (byNetCls) addNetClsRule(batch);
  for (const auto& family : kFamilies) {
    addMap(batch, family.map, elementsOf(family, plan.addresses));
    addAddressRule(batch, family);
  }
  std::set<int> levels;
  for (const auto& [id, of] : plan.cgroups) levels.insert(of.level);
  if (!levels.empty()) addChain(batch, kOutput);
  for (const int level : levels) {
    const ClassMap map{"cgroup" + std::to_string(level),
                       kCgroupMaps + static_cast<std::uint32_t>(level), kCgroupType,
                       sizeof(std::uint64_t)};
    addMap(batch, map, elementsOf(level, plan.cgroups));
    addCgroupRule(batch, level, map);
  }
}

}  // namespace

Result<> replace(netlink::Socket& filter, const TrafficPlan& plan, bool byNetCls) {
  return filter.transaction([&](Batch& batch) {
    addRemoval(batch);
    addContents(batch, plan, byNetCls);
  });
}

Result<> remove(netlink::Socket& filter) {
  return filter.transaction(addRemoval);
}

Result<bool> exists(netlink::Socket& filter) {
  nfgenmsg header{};
  header.nfgen_family = NFPROTO_INET;
  header.version = NFNETLINK_V0;
  netlink::Message ask(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE, 0, header);
  ask.addText(NFTA_TABLE_NAME, kTable);
  auto asked = filter.request(std::move(ask));
  if (asked) return true;
  if (asked.error().code == ErrorCode::NotFound) return false;
  return fail(std::move(asked.error()).within("read the table of nf_tables"));
}

}  // namespace koord::koordlet::packettable
