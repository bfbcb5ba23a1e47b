#include "koordlet/hooks/tcnetworkqos/packet_table.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <set>

// What nft(8) would show as
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
// What processes in the node's network send is known by their cgroup: where there is net_cls by the class that it names,
// and on version 2 by the pod's cgroup itself, with a map for each depth at which pods are. The second is asked on the
// way out, since the kernel knows no socket later.
//
// A packet whose address is in no map ends its rule and keeps the priority that it has, so it falls into the qdisc's
// default class. Priority "mangle" is before masquerading, so the address is the pod's own.

namespace koord::koordlet::packettable {
namespace {

using netlink::Message;

constexpr std::string_view kTable = "koordlet_network_qos";
struct Chain {
  std::string_view name;
  std::uint32_t hook;
};
constexpr Chain kPostrouting{"postrouting", NF_INET_POST_ROUTING};
constexpr Chain kOutput{"output", NF_INET_LOCAL_OUT};
// Kinds of keys and values, for nft's output only.
constexpr std::uint32_t kIpv4Type = 7, kIpv6Type = 8, kClassIdType = 23, kCgroupType = 46;
constexpr std::uint32_t kMap4 = 1, kMap6 = 2, kCgroupMaps = 10;
constexpr std::int32_t kManglePriority = -150;
// Elements of one message: an attribute ends at 64 KiB.
constexpr std::size_t kElementsAtOnce = 500;

// A map to classes.
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

Message message(int type, std::uint16_t flags) {
  nfgenmsg header{};
  header.nfgen_family = NFPROTO_INET;
  header.version = NFNETLINK_V0;
  return {static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type), flags, header};
}

Message tableMessage(int type, std::uint16_t flags) {
  Message table = message(type, flags);
  table.addText(NFTA_TABLE_NAME, kTable);
  return table;
}

Message chainMessage(const Chain& wanted) {
  Message chain = message(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
  chain.addText(NFTA_CHAIN_TABLE, kTable);
  chain.addText(NFTA_CHAIN_NAME, wanted.name);
  chain.nest(NLA_F_NESTED | NFTA_CHAIN_HOOK, [&] {
    chain.addNet32(NFTA_HOOK_HOOKNUM, wanted.hook);
    chain.addNet32(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(kManglePriority));
  });
  chain.addNet32(NFTA_CHAIN_POLICY, NF_ACCEPT);
  chain.addText(NFTA_CHAIN_TYPE, "filter");
  return chain;
}

Message mapMessage(const ClassMap& wanted) {
  Message map = message(NFT_MSG_NEWSET, NLM_F_CREATE);
  map.addText(NFTA_SET_TABLE, kTable);
  map.addText(NFTA_SET_NAME, wanted.name);
  map.addNet32(NFTA_SET_FLAGS, NFT_SET_MAP);
  map.addNet32(NFTA_SET_KEY_TYPE, wanted.keyType);
  map.addNet32(NFTA_SET_KEY_LEN, wanted.keySize);
  map.addNet32(NFTA_SET_DATA_TYPE, kClassIdType);
  map.addNet32(NFTA_SET_DATA_LEN, sizeof(std::uint32_t));
  map.addNet32(NFTA_SET_ID, wanted.id);
  return map;
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

// A cgroup's id is a number of the machine's own order.
Elements elementsOf(int level, const std::map<std::uint64_t, TrafficPlan::OfCgroup>& cgroups) {
  Elements elements;
  for (const auto& [id, of] : cgroups)
    if (of.level == level)
      elements.emplace_back(std::string(Message::bytesOf(id)), trafficId(of.minor));
  return elements;
}

Message elementsMessage(const ClassMap& map, std::span<const Elements::value_type> elements) {
  Message list = message(NFT_MSG_NEWSETELEM, NLM_F_CREATE);
  list.addText(NFTA_SET_ELEM_LIST_TABLE, kTable);
  list.addText(NFTA_SET_ELEM_LIST_SET, map.name);
  list.addNet32(NFTA_SET_ELEM_LIST_SET_ID, map.id);
  list.nest(NLA_F_NESTED | NFTA_SET_ELEM_LIST_ELEMENTS, [&] {
    for (const auto& [key, value] : elements)
      list.nest(NLA_F_NESTED | NFTA_LIST_ELEM, [&] {
        list.nest(NLA_F_NESTED | NFTA_SET_ELEM_KEY, [&] { list.add(NFTA_DATA_VALUE, key); });
        // A priority is a number of the machine's own order.
        list.nest(NLA_F_NESTED | NFTA_SET_ELEM_DATA, [&] { list.add32(NFTA_DATA_VALUE, value); });
      });
  });
  return list;
}

// A rule of expressions, each a name and its attributes; all work on register 1.
class Rule {
 public:
  template <class Build>
  Rule(const Chain& chain, Build build) {
    rule_.addText(NFTA_RULE_TABLE, kTable);
    rule_.addText(NFTA_RULE_CHAIN, chain.name);
    rule_.nest(NLA_F_NESTED | NFTA_RULE_EXPRESSIONS, [&] { build(*this); });
  }
  Message take() { return std::move(rule_); }

  void load(nft_meta_keys key) {
    expression("meta", [&] {
      rule_.addNet32(NFTA_META_DREG, NFT_REG_1);
      rule_.addNet32(NFTA_META_KEY, static_cast<std::uint32_t>(key));
    });
  }
  void setPriority() {
    expression("meta", [&] {
      rule_.addNet32(NFTA_META_KEY, NFT_META_PRIORITY);
      rule_.addNet32(NFTA_META_SREG, NFT_REG_1);
    });
  }
  void mustBe(std::string_view bytes) {
    expression("cmp", [&] {
      rule_.addNet32(NFTA_CMP_SREG, NFT_REG_1);
      rule_.addNet32(NFTA_CMP_OP, NFT_CMP_EQ);
      value(NFTA_CMP_DATA, bytes);
    });
  }
  void mask(std::uint32_t bits) {
    expression("bitwise", [&] {
      rule_.addNet32(NFTA_BITWISE_SREG, NFT_REG_1);
      rule_.addNet32(NFTA_BITWISE_DREG, NFT_REG_1);
      rule_.addNet32(NFTA_BITWISE_LEN, sizeof bits);
      value(NFTA_BITWISE_MASK, Message::bytesOf(bits));
      constexpr std::uint32_t kNothing = 0;
      value(NFTA_BITWISE_XOR, Message::bytesOf(kNothing));
    });
  }
  void loadSource(const Family& family) {
    expression("payload", [&] {
      rule_.addNet32(NFTA_PAYLOAD_DREG, NFT_REG_1);
      rule_.addNet32(NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
      rule_.addNet32(NFTA_PAYLOAD_OFFSET, family.sourceOffset);
      rule_.addNet32(NFTA_PAYLOAD_LEN, family.map.keySize);
    });
  }
  // Of the sender's cgroup, the ancestor at that depth.
  void loadCgroup(int level) {
    expression("socket", [&] {
      rule_.addNet32(NFTA_SOCKET_KEY, NFT_SOCKET_CGROUPV2);
      rule_.addNet32(NFTA_SOCKET_DREG, NFT_REG_1);
      rule_.addNet32(NFTA_SOCKET_LEVEL, static_cast<std::uint32_t>(level));
    });
  }
  void lookUp(const ClassMap& map) {
    expression("lookup", [&] {
      rule_.addText(NFTA_LOOKUP_SET, map.name);
      rule_.addNet32(NFTA_LOOKUP_SET_ID, map.id);
      rule_.addNet32(NFTA_LOOKUP_SREG, NFT_REG_1);
      rule_.addNet32(NFTA_LOOKUP_DREG, NFT_REG_1);
    });
  }

 private:
  void value(std::uint16_t attribute, std::string_view bytes) {
    rule_.nest(static_cast<std::uint16_t>(NLA_F_NESTED | attribute),
               [&] { rule_.add(NFTA_DATA_VALUE, bytes); });
  }
  template <class Build>
  void expression(std::string_view name, Build build) {
    rule_.nest(NLA_F_NESTED | NFTA_LIST_ELEM, [&] {
      rule_.addText(NFTA_EXPR_NAME, name);
      rule_.nest(NLA_F_NESTED | NFTA_EXPR_DATA, build);
    });
  }

  Message rule_ = message(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND);
};

Message byNetClsRule() {
  return Rule(kPostrouting,
              [](Rule& rule) {
                rule.load(NFT_META_CGROUP);
                rule.mask(0xffff0000);
                constexpr std::uint32_t kOurs = trafficId(0);
                rule.mustBe(Message::bytesOf(kOurs));
                rule.load(NFT_META_CGROUP);
                rule.setPriority();
              })
      .take();
}

Message byAddressRule(const Family& family) {
  return Rule(kPostrouting,
              [&](Rule& rule) {
                rule.load(NFT_META_NFPROTO);
                rule.mustBe(Message::bytesOf(family.protocol));
                rule.loadSource(family);
                rule.lookUp(family.map);
                rule.setPriority();
              })
      .take();
}

Message byCgroupRule(int level, const ClassMap& map) {
  return Rule(kOutput,
              [&](Rule& rule) {
                rule.loadCgroup(level);
                rule.lookUp(map);
                rule.setPriority();
              })
      .take();
}

void addMap(const ClassMap& map, const Elements& elements, std::vector<Message>& messages) {
  messages.push_back(mapMessage(map));
  for (std::size_t at = 0; at < elements.size(); at += kElementsAtOnce)
    messages.push_back(elementsMessage(
        map, std::span(elements).subspan(at, std::min(kElementsAtOnce, elements.size() - at))));
}

}  // namespace

std::vector<Message> replace(const TrafficPlan& plan, bool byNetCls) {
  std::vector<Message> messages = remove();
  messages.push_back(tableMessage(NFT_MSG_NEWTABLE, NLM_F_CREATE));
  messages.push_back(chainMessage(kPostrouting));
  if (byNetCls) messages.push_back(byNetClsRule());
  for (const auto& family : kFamilies) {
    addMap(family.map, elementsOf(family, plan.addresses), messages);
    messages.push_back(byAddressRule(family));
  }
  std::set<int> levels;
  for (const auto& [id, of] : plan.cgroups) levels.insert(of.level);
  if (!levels.empty()) messages.push_back(chainMessage(kOutput));
  for (const int level : levels) {
    const ClassMap map{"cgroup" + std::to_string(level),
                       kCgroupMaps + static_cast<std::uint32_t>(level), kCgroupType,
                       sizeof(std::uint64_t)};
    addMap(map, elementsOf(level, plan.cgroups), messages);
    messages.push_back(byCgroupRule(level, map));
  }
  return messages;
}

// Made first, so that removing it is no error where it is not.
std::vector<Message> remove() {
  std::vector<Message> messages;
  messages.push_back(tableMessage(NFT_MSG_NEWTABLE, NLM_F_CREATE));
  messages.push_back(tableMessage(NFT_MSG_DELTABLE, 0));
  return messages;
}

Message ask() {
  return tableMessage(NFT_MSG_GETTABLE, 0);
}

}  // namespace koord::koordlet::packettable
