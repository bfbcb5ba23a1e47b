#include "koordlet/hooks/tcnetworkqos/packet_table.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

#include <algorithm>
#include <initializer_list>
#include <set>
#include <span>

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
// The attributes of the messages are those of <linux/netfilter/nf_tables.h>, where numbers have the
// network's byte order.
//
// If a packet's address is in no map, the packet keeps its priority, so it falls into the qdisc's
// default class. Priority "mangle" is before masquerading, so the address is the pod's own.

namespace koord::koordlet::packettable {
namespace {

using netlink::bytesOf;
using netlink::Message;
using Messages = std::vector<Message>;

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
// Elements of a message. Each has at most 40 bytes, and all are in one attribute of 64 KiB.
constexpr std::size_t kMaxOfElements = 1000;

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

// A message about tables for IPv4 and IPv6.
Message messageOf(nf_tables_msg_types type, std::uint16_t flags) {
  nfgenmsg header{};
  header.nfgen_family = NFPROTO_INET;
  header.version = NFNETLINK_V0;
  return {static_cast<std::uint16_t>(NFNL_SUBSYS_NFTABLES << 8 | type), flags, header};
}

void addNumber(Message& message, std::uint16_t attribute, std::uint32_t value) {
  message.add32(attribute, htonl(value));
}

// A value of packets: its bytes are those in a register.
void addData(Message& message, std::uint16_t attribute, std::string_view bytes) {
  message.nest(attribute, [&] { message.add(NFTA_DATA_VALUE, bytes); });
}

Message tableMessage(nf_tables_msg_types type, std::uint16_t flags) {
  Message message = messageOf(type, flags);
  message.addText(NFTA_TABLE_NAME, kTable);
  return message;
}

Message chainMessage(const Chain& chain) {
  Message message = messageOf(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
  message.addText(NFTA_CHAIN_TABLE, kTable);
  message.addText(NFTA_CHAIN_NAME, chain.name);
  message.nest(NFTA_CHAIN_HOOK, [&] {
    addNumber(message, NFTA_HOOK_HOOKNUM, chain.hook);
    addNumber(message, NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(kManglePriority));
  });
  addNumber(message, NFTA_CHAIN_POLICY, NF_ACCEPT);
  message.addText(NFTA_CHAIN_TYPE, "filter");
  return message;
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
    if (of.level == level) elements.emplace_back(bytesOf(id), trafficId(of.minor));
  return elements;
}

Message mapMessage(const ClassMap& map) {
  Message message = messageOf(NFT_MSG_NEWSET, NLM_F_CREATE);
  message.addText(NFTA_SET_TABLE, kTable);
  message.addText(NFTA_SET_NAME, map.name);
  addNumber(message, NFTA_SET_ID, map.id);
  addNumber(message, NFTA_SET_FLAGS, NFT_SET_MAP);
  addNumber(message, NFTA_SET_KEY_TYPE, map.keyType);
  addNumber(message, NFTA_SET_KEY_LEN, map.keySize);
  addNumber(message, NFTA_SET_DATA_TYPE, kClassIdType);
  addNumber(message, NFTA_SET_DATA_LEN, sizeof(std::uint32_t));
  return message;
}

Message elementsMessage(const ClassMap& map, std::span<const Elements::value_type> elements) {
  Message message = messageOf(NFT_MSG_NEWSETELEM, NLM_F_CREATE);
  message.addText(NFTA_SET_ELEM_LIST_TABLE, kTable);
  message.addText(NFTA_SET_ELEM_LIST_SET, map.name);
  addNumber(message, NFTA_SET_ELEM_LIST_SET_ID, map.id);
  message.nest(NFTA_SET_ELEM_LIST_ELEMENTS, [&] {
    for (const auto& [key, value] : elements)
      message.nest(NFTA_LIST_ELEM, [&] {
        addData(message, NFTA_SET_ELEM_KEY, key);
        // A priority is a number in the host's byte order.
        addData(message, NFTA_SET_ELEM_DATA, bytesOf(value));
      });
  });
  return message;
}

void addMap(Messages& messages, const ClassMap& map, const Elements& elements) {
  messages.push_back(mapMessage(map));
  for (std::span<const Elements::value_type> rest = elements; !rest.empty();) {
    const std::size_t count = std::min(rest.size(), kMaxOfElements);
    messages.push_back(elementsMessage(map, rest.first(count)));
    rest = rest.subspan(count);
  }
}

// A message that appends a rule to a chain. Its expressions are evaluated one after the other. Each
// loads register 1, changes it, or uses it.
class Rule {
 public:
  // `addExpressions` calls the functions below.
  template <class Fn>
  Rule(const Chain& chain, Fn addExpressions)
      : message_(messageOf(NFT_MSG_NEWRULE, NLM_F_CREATE | NLM_F_APPEND)) {
    message_.addText(NFTA_RULE_TABLE, kTable);
    message_.addText(NFTA_RULE_CHAIN, chain.name);
    message_.nest(NFTA_RULE_EXPRESSIONS, [&] { addExpressions(*this); });
  }
  operator Message() && { return std::move(message_); }

  void load(nft_meta_keys key) { add("meta", {{NFTA_META_KEY, key}, {NFTA_META_DREG, NFT_REG_1}}); }
  void setPriority() {
    add("meta", {{NFTA_META_KEY, NFT_META_PRIORITY}, {NFTA_META_SREG, NFT_REG_1}});
  }
  template <class T>
  void mustBe(const T& value) {
    add("cmp", {{NFTA_CMP_SREG, NFT_REG_1}, {NFTA_CMP_OP, NFT_CMP_EQ}},
        [&] { addData(message_, NFTA_CMP_DATA, bytesOf(value)); });
  }
  void mask(std::uint32_t bits) {
    constexpr std::uint32_t kNothing = 0;
    add("bitwise",
        {{NFTA_BITWISE_SREG, NFT_REG_1},
         {NFTA_BITWISE_DREG, NFT_REG_1},
         {NFTA_BITWISE_LEN, sizeof bits}},
        [&] {
          addData(message_, NFTA_BITWISE_MASK, bytesOf(bits));
          addData(message_, NFTA_BITWISE_XOR, bytesOf(kNothing));
        });
  }
  void loadSource(const Family& family) {
    add("payload", {{NFTA_PAYLOAD_DREG, NFT_REG_1},
                    {NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER},
                    {NFTA_PAYLOAD_OFFSET, family.sourceOffset},
                    {NFTA_PAYLOAD_LEN, family.map.keySize}});
  }
  // The ancestor of the sender's cgroup at that depth.
  void loadCgroup(int level) {
    add("socket", {{NFTA_SOCKET_KEY, NFT_SOCKET_CGROUPV2},
                   {NFTA_SOCKET_DREG, NFT_REG_1},
                   {NFTA_SOCKET_LEVEL, static_cast<std::uint32_t>(level)}});
  }
  void lookUp(const ClassMap& map) {
    add("lookup",
        {{NFTA_LOOKUP_SET_ID, map.id},
         {NFTA_LOOKUP_SREG, NFT_REG_1},
         {NFTA_LOOKUP_DREG, NFT_REG_1}},
        [&] { message_.addText(NFTA_LOOKUP_SET, map.name); });
  }

 private:
  struct Number {
    std::uint16_t attribute;
    std::uint32_t value;
  };
  // `addMore` adds the attributes that are not numbers.
  template <class Fn = void (*)()>
  void add(const char* name, std::initializer_list<Number> numbers, Fn addMore = [] {}) {
    message_.nest(NFTA_LIST_ELEM, [&] {
      message_.addText(NFTA_EXPR_NAME, name);
      message_.nest(NFTA_EXPR_DATA, [&] {
        for (const auto& [attribute, value] : numbers) addNumber(message_, attribute, value);
        addMore();
      });
    });
  }

  Message message_;
};

Message netClsRule() {
  return Rule(kPostrouting, [](Rule& rule) {
    rule.load(NFT_META_CGROUP);
    rule.mask(0xffff0000);
    rule.mustBe(trafficId(0));
    rule.load(NFT_META_CGROUP);
    rule.setPriority();
  });
}

Message addressRule(const Family& family) {
  return Rule(kPostrouting, [&](Rule& rule) {
    rule.load(NFT_META_NFPROTO);
    rule.mustBe(family.protocol);
    rule.loadSource(family);
    rule.lookUp(family.map);
    rule.setPriority();
  });
}

Message cgroupRule(int level, const ClassMap& map) {
  return Rule(kOutput, [&](Rule& rule) {
    rule.loadCgroup(level);
    rule.lookUp(map);
    rule.setPriority();
  });
}

// Creates the table first, so that the removal does not fail if the table is absent.
Messages removal() {
  return {tableMessage(NFT_MSG_NEWTABLE, NLM_F_CREATE), tableMessage(NFT_MSG_DELTABLE, 0)};
}

void addContents(Messages& messages, const TrafficPlan& plan, bool byNetCls) {
  messages.push_back(tableMessage(NFT_MSG_NEWTABLE, NLM_F_CREATE));
  messages.push_back(chainMessage(kPostrouting));
  if (byNetCls) messages.push_back(netClsRule());
  for (const auto& family : kFamilies) {
    addMap(messages, family.map, elementsOf(family, plan.addresses));
    messages.push_back(addressRule(family));
  }
  std::set<int> levels;
  for (const auto& [id, of] : plan.cgroups) levels.insert(of.level);
  if (!levels.empty()) messages.push_back(chainMessage(kOutput));
  for (const int level : levels) {
    const ClassMap map{"cgroup" + std::to_string(level),
                       kCgroupMaps + static_cast<std::uint32_t>(level), kCgroupType,
                       sizeof(std::uint64_t)};
    addMap(messages, map, elementsOf(level, plan.cgroups));
    messages.push_back(cgroupRule(level, map));
  }
}

}  // namespace

Result<> replace(netlink::Socket& filter, const TrafficPlan& plan, bool byNetCls) {
  Messages messages = removal();
  addContents(messages, plan, byNetCls);
  return filter.transaction(std::move(messages));
}

Result<> remove(netlink::Socket& filter) {
  return filter.transaction(removal());
}

Result<bool> exists(netlink::Socket& filter) {
  auto asked = filter.request(tableMessage(NFT_MSG_GETTABLE, 0));
  if (asked) return true;
  if (asked.error().code == ErrorCode::NotFound) return false;
  return fail(std::move(asked.error()).within("read the table of nf_tables"));
}

}  // namespace koord::koordlet::packettable
