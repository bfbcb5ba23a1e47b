#include "koordlet/netlink/netlink.h"

#include <gmock/gmock.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <thread>

namespace koord::koordlet::netlink {
namespace {

using testing::HasSubstr;

// Runs on its own thread, in a network namespace that has only lo.
void inEmptyNetwork(const std::function<void()>& fn) {
  bool skipped = false;
  std::thread([&] {
    skipped = ::unshare(CLONE_NEWNET) != 0;
    if (!skipped) fn();
  }).join();
  if (skipped) GTEST_SKIP() << "a network namespace needs root";
}

// Another process that writes into the queue of a netlink socket.
class ForgedSender {
 public:
  ForgedSender() : fd_(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)) {}
  ~ForgedSender() { ::close(fd_); }

  void send(const Socket& to, nlmsghdr header, std::string_view payload) {
    header.nlmsg_len = static_cast<std::uint32_t>(NLMSG_HDRLEN + payload.size());
    header.nlmsg_pid = to.port();
    std::string bytes(bytesOf(header));
    bytes.append(payload);
    sockaddr_nl address{};
    address.nl_family = AF_NETLINK;
    address.nl_pid = to.port();
    EXPECT_EQ(::sendto(fd_, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&address),
                       sizeof address),
              static_cast<ssize_t>(bytes.size()));
  }
  // The answer of a kernel that refuses a request.
  void refuse(const Socket& to, std::uint32_t sequence) {
    nlmsghdr header{};
    header.nlmsg_type = NLMSG_ERROR;
    header.nlmsg_seq = sequence;
    nlmsgerr error{};
    error.error = -EPERM;
    send(to, header, bytesOf(error));
  }

 private:
  int fd_;
};

Message allLinks() {
  return Message(RTM_GETLINK, 0, ifinfomsg{});
}

std::vector<int> indexesIn(const Result<std::vector<std::string>>& links) {
  std::vector<int> indexes;
  if (links)
    for (const auto& link : *links) indexes.push_back(readAs<ifinfomsg>(link)->ifi_index);
  return indexes;
}

std::string linkOf(int index) {
  ifinfomsg link{};
  link.ifi_index = index;
  return std::string(bytesOf(link));
}

TEST(NetlinkSocket, ROOT_AnErrorSaysWhatTheKernelSaid) {
  inEmptyNetwork([] {
    auto socket = *Socket::open(NETLINK_ROUTE);
    ifinfomsg absent{};
    absent.ifi_index = 4711;
    const auto gone = socket.request(Message(RTM_DELLINK, 0, absent));
    ASSERT_FALSE(gone);
    EXPECT_EQ(gone.error().code, ErrorCode::NotFound);
    tcmsg wrong{};
    wrong.tcm_ifindex = 1;
    Message qdisc(RTM_NEWQDISC, NLM_F_CREATE, wrong);
    qdisc.addText(TCA_KIND, "no-such-kind");
    const auto refused = socket.request(std::move(qdisc));
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr(": ")) << "the reason is missing";
  });
}

TEST(NetlinkSocket, ROOT_AnswersToAnEarlierRequestArePassedOver) {
  inEmptyNetwork([] {
    auto socket = *Socket::open(NETLINK_ROUTE);
    ForgedSender forger;
    forger.refuse(socket, 4711);
    EXPECT_EQ(indexesIn(socket.dump(allLinks())), std::vector{1});
    forger.refuse(socket, 1);
    EXPECT_EQ(indexesIn(socket.dump(allLinks())), std::vector{1});
  });
}

TEST(NetlinkSocket, ROOT_AListThatChangedWhileItWasReadIsReadAgain) {
  inEmptyNetwork([] {
    auto socket = *Socket::open(NETLINK_ROUTE);
    nlmsghdr header{};
    header.nlmsg_type = RTM_NEWLINK;
    header.nlmsg_flags = NLM_F_MULTI | NLM_F_DUMP_INTR;
    header.nlmsg_seq = 1;
    ForgedSender forger;
    forger.send(socket, header, linkOf(4711));
    EXPECT_EQ(indexesIn(socket.dump(allLinks())), std::vector{1});
  });
}

TEST(NetlinkSocket, ROOT_AListThatChangesAllTheTimeIsAnError) {
  inEmptyNetwork([] {
    auto socket = *Socket::open(NETLINK_ROUTE);
    nlmsghdr header{};
    header.nlmsg_type = NLMSG_DONE;
    header.nlmsg_flags = NLM_F_MULTI | NLM_F_DUMP_INTR;
    ForgedSender forger;
    for (header.nlmsg_seq = 1; header.nlmsg_seq <= 50; ++header.nlmsg_seq)
      forger.send(socket, header, std::string(sizeof(int), '\0'));
    const auto links = socket.dump(allLinks());
    ASSERT_FALSE(links);
    EXPECT_THAT(links.error().message, HasSubstr("changed"));
  });
}

TEST(NetlinkSocket, ROOT_AnAnswerThatIsCutOffIsAnError) {
  inEmptyNetwork([] {
    auto socket = *Socket::open(NETLINK_ROUTE);
    nlmsghdr header{};
    header.nlmsg_type = RTM_NEWLINK;
    header.nlmsg_flags = NLM_F_MULTI;
    header.nlmsg_seq = 1;
    ForgedSender forger;
    forger.send(socket, header, std::string(100'000, 'x'));
    const auto links = socket.dump(allLinks());
    ASSERT_FALSE(links);
    EXPECT_THAT(links.error().message, HasSubstr("lost"));
    EXPECT_EQ(indexesIn(socket.dump(allLinks())), std::vector{1}) << "the next one is whole";
  });
}

TEST(NetlinkSocket, ROOT_AMessageWithAnAttributeThatIsTooLongIsNotSent) {
  inEmptyNetwork([] {
    auto socket = *Socket::open(NETLINK_ROUTE);
    Message nested(RTM_NEWLINK, NLM_F_CREATE, ifinfomsg{});
    nested.nest(IFLA_LINKINFO, [&] {
      nested.addText(IFLA_INFO_KIND, std::string(40'000, 'a'));
      nested.nest(IFLA_INFO_DATA, [&] { nested.add(1, std::string(40'000, 'b')); });
      nested.add32(2, 3);
    });
    EXPECT_EQ(socket.request(std::move(nested)).error().code, ErrorCode::Invalid);
    Message flat(RTM_NEWLINK, NLM_F_CREATE, ifinfomsg{});
    flat.add(IFLA_IFNAME, std::string(65'532, 'a'));
    EXPECT_EQ(socket.request(std::move(flat)).error().code, ErrorCode::Invalid);
    EXPECT_EQ(indexesIn(socket.dump(allLinks())), std::vector{1});
  });
}

TEST(NetlinkSocket, ROOT_ATransactionThatIsRefusedCostsTheNextOneNothing) {
  inEmptyNetwork([] {
    auto socket = *Socket::open(NETLINK_NETFILTER);
    // Without attributes: each of them is refused.
    const auto nothing = [] {
      return Message(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWTABLE, NLM_F_CREATE, nfgenmsg{});
    };
    const auto refused = socket.transaction({nothing(), nothing(), nothing()});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::Io);
    EXPECT_TRUE(socket.transaction({}));
    const auto tables = socket.dump(
        Message(NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETTABLE, 0, std::array<char, 4>{}));
    ASSERT_TRUE(tables) << tables.error().message;
    EXPECT_TRUE(tables->empty());
  });
}

TEST(NetlinkAttribute, IsFoundAmongOthersAndNeverBeyondTheEnd) {
  const auto attribute = [](std::uint16_t type, std::string value) {
    const nlattr start{static_cast<std::uint16_t>(sizeof(nlattr) + value.size()), type};
    value.resize(NLA_ALIGN(value.size()));
    return std::string(bytesOf(start)) + value;
  };
  const std::string bytes =
      "head" + attribute(1, "abc") + attribute(NLA_F_NESTED | 2, "wxyz") + attribute(3, "4321");
  EXPECT_EQ(attributeIn(bytes, 4, 1), "abc");
  EXPECT_EQ(attributeIn(bytes, 4, 2), "wxyz");
  EXPECT_EQ(attributeIn(bytes, 4, 3), "4321");
  EXPECT_EQ(attributeIn(bytes, 4, 4), std::nullopt);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(attributeIn(std::string_view(bytes).substr(0, size), 4, 3), std::nullopt) << size;
  EXPECT_EQ(attributeIn(bytes, 40, 1), std::nullopt);
}

}  // namespace
}  // namespace koord::koordlet::netlink
