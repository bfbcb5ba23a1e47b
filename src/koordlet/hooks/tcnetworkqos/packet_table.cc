#include "koordlet/hooks/tcnetworkqos/packet_table.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>

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
//   }
//
// A packet whose address is in no map ends its rule and keeps the priority that it has, so it falls into the qdisc's
// default class. Priority "mangle" is before masquerading, so the address is the pod's own.

namespace koord::koordlet::packettable {
namespace {

using netlink::Message;

constexpr std::string_view kTable = "koordlet_network_qos";
constexpr std::string_view kChain = "postrouting";
// Kinds of keys and values, for nft's output only.
constexpr std::uint32_t kIpv4Type = 7, kIpv6Type = 8, kClassIdType = 23;
constexpr std::uint32_t kMap4 = 1, kMap6 = 2;
constexpr std::int32_t kManglePriority = -150;
// Elements of one message: an attribute ends at 64 KiB.
constexpr std::size_t kElementsAtOnce = 500;

struct Family {
  int family;
  std::uint8_t protocol;
  std::string_view map;
  std::uint32_t id, keyType, keySize, sourceOffset;
};
constexpr Family kFamilies[] = {
    {AF_INET, NFPROTO_IPV4, "class4", kMap4, kIpv4Type, 4, 12},
    {AF_INET6, NFPROTO_IPV6, "class6", kMap6, kIpv6Type, 16, 8},
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

Message chainMessage() {
  Message chain = message(NFT_MSG_NEWCHAIN, NLM_F_CREATE);
  chain.addText(NFTA_CHAIN_TABLE, kTable);
  chain.addText(NFTA_CHAIN_NAME, kChain);
  chain.nest(NLA_F_NESTED | NFTA_CHAIN_HOOK, [&] {
    chain.addNet32(NFTA_HOOK_HOOKNUM, NF_INET_POST_ROUTING);
    chain.addNet32(NFTA_HOOK_PRIORITY, static_cast<std::uint32_t>(kManglePriority));
  });
  chain.addNet32(NFTA_CHAIN_POLICY, NF_ACCEPT);
  chain.addText(NFTA_CHAIN_TYPE, "filter");
  return chain;
}

Message mapMessage(const Family& family) {
  Message map = message(NFT_MSG_NEWSET, NLM_F_CREATE);
  map.addText(NFTA_SET_TABLE, kTable);
  map.addText(NFTA_SET_NAME, family.map);
  map.addNet32(NFTA_SET_FLAGS, NFT_SET_MAP);
  map.addNet32(NFTA_SET_KEY_TYPE, family.keyType);
  map.addNet32(NFTA_SET_KEY_LEN, family.keySize);
  map.addNet32(NFTA_SET_DATA_TYPE, kClassIdType);
  map.addNet32(NFTA_SET_DATA_LEN, sizeof(std::uint32_t));
  map.addNet32(NFTA_SET_ID, family.id);
  return map;
}

using Elements = std::vector<std::pair<std::string, std::uint32_t>>;

Elements elementsOf(const Family& family, const std::map<std::string, std::uint32_t>& addresses) {
  Elements elements;
  for (const auto& [text, minor] : addresses) {
    char address[sizeof(in6_addr)];
    if (::inet_pton(family.family, text.c_str(), address) == 1)
      elements.emplace_back(std::string(address, family.keySize), trafficId(minor));
  }
  return elements;
}

Message elementsMessage(const Family& family, std::span<const Elements::value_type> elements) {
  Message list = message(NFT_MSG_NEWSETELEM, NLM_F_CREATE);
  list.addText(NFTA_SET_ELEM_LIST_TABLE, kTable);
  list.addText(NFTA_SET_ELEM_LIST_SET, family.map);
  list.addNet32(NFTA_SET_ELEM_LIST_SET_ID, family.id);
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
  explicit Rule(Build build) {
    rule_.addText(NFTA_RULE_TABLE, kTable);
    rule_.addText(NFTA_RULE_CHAIN, kChain);
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
      rule_.addNet32(NFTA_PAYLOAD_LEN, family.keySize);
    });
  }
  void lookUp(const Family& family) {
    expression("lookup", [&] {
      rule_.addText(NFTA_LOOKUP_SET, family.map);
      rule_.addNet32(NFTA_LOOKUP_SET_ID, family.id);
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

Message byCgroupRule() {
  return Rule([](Rule& rule) {
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
  return Rule([&](Rule& rule) {
           rule.load(NFT_META_NFPROTO);
           rule.mustBe(Message::bytesOf(family.protocol));
           rule.loadSource(family);
           rule.lookUp(family);
           rule.setPriority();
         })
      .take();
}

}  // namespace

std::vector<Message> replace(const std::map<std::string, std::uint32_t>& addresses, bool byCgroup) {
  std::vector<Message> messages = remove();
  messages.push_back(tableMessage(NFT_MSG_NEWTABLE, NLM_F_CREATE));
  messages.push_back(chainMessage());
  if (byCgroup) messages.push_back(byCgroupRule());
  for (const auto& family : kFamilies) {
    messages.push_back(mapMessage(family));
    const Elements elements = elementsOf(family, addresses);
    for (std::size_t at = 0; at < elements.size(); at += kElementsAtOnce)
      messages.push_back(elementsMessage(
          family,
          std::span(elements).subspan(at, std::min(kElementsAtOnce, elements.size() - at))));
    messages.push_back(byAddressRule(family));
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
