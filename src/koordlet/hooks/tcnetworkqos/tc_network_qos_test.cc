#include "koordlet/hooks/tcnetworkqos/tc_network_qos.h"

#include <arpa/inet.h>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <thread>
#include <tuple>

#include "api/codec.h"
#include "base/random.h"
#include "koordlet/hooks/tcnetworkqos/packet_table.h"
#include "koordlet/testing/fake_host.h"

namespace koord::koordlet {
namespace {

using netlink::Message;
using testing::ElementsAre;
using testing::HasSubstr;

PodView podOf(const std::string& uid, const std::string& qos, const std::string& address,
              const std::string& egress = "", bool hostNetwork = false) {
  auto pod = *api::decodeText<api::Pod>(fmt::format(
      R"({{"metadata":{{"name":"{0}","uid":"{0}","labels":{{"koordinator.sh/qosClass":"{1}"}}}},
           "spec":{{"hostNetwork":{2}}},
           "status":{{"phase":"Running","qosClass":"Burstable","podIP":"{3}","podIPs":[{{"ip":"{3}"}}]}}}})",
      uid, qos, hostNetwork, address));
  if (!egress.empty())
    pod.metadata.annotations["koordinator.sh/networkQOS"] =
        fmt::format(R"({{"egressLimit":"{}"}})", egress);
  return viewOf(std::make_shared<const api::Pod>(std::move(pod)), CgroupDriver::Cgroupfs);
}

EffectiveSlo sloOf(const std::string& total, const std::string& policy = "tc") {
  EffectiveSlo slo = defaultSlo();
  slo.system = *api::decodeText<api::SystemStrategy>(
      fmt::format(R"({{"totalNetworkBandwidth":"{}"}})", total));
  slo.qos = *api::decodeText<api::ResourceQOSStrategy>(fmt::format(
      R"({{"policies":{{"netQOSPolicy":"{}"}},
           "lsClass":{{"networkQOS":{{"enable":true,"egressRequest":30,"egressLimit":"8G"}}}},
           "beClass":{{"networkQOS":{{"enable":true,"egressLimit":"2G"}}}}}})",
      policy));
  return slo;
}

TEST(TrafficPlan, ClassesGetWhatNodeSloSaysInBits) {
  TrafficNumbers numbers;
  const auto plan = planTraffic(nodeBandwidth(sloOf("10G")), {}, numbers);
  EXPECT_THAT(plan.classes,
              ElementsAre(TrafficClass{kAllTraffic, 0, 10'000'000'000, 10'000'000'000, 0},
                          TrafficClass{kSystemTraffic, 1, 7'000'000'000, 10'000'000'000, 1},
                          TrafficClass{kLsTraffic, 1, 3'000'000'000, 8'000'000'000, 2},
                          TrafficClass{kBeTraffic, 1, 8'000, 2'000'000'000, 3}));
}

TEST(TrafficPlan, WithoutBandwidthNothingIsShaped) {
  TrafficNumbers numbers;
  const std::vector pods = {podOf("a", "LS", "10.0.0.1", "80M")};
  EXPECT_EQ(planTraffic(nodeBandwidth(sloOf("0")), pods, numbers), TrafficPlan{});
}

TEST(TrafficPlan, PodsGoIntoTheirClassAndThoseWithALimitIntoTheirOwn) {
  TrafficNumbers numbers;
  const std::vector pods = {podOf("ls", "LSR", "10.0.0.1"), podOf("be", "BE", "10.0.0.2"),
                            podOf("own", "BE", "fd00::3", "80M"),
                            podOf("node", "SYSTEM", "192.168.0.1", "", true)};
  const auto plan = planTraffic(nodeBandwidth(sloOf("10G")), pods, numbers);
  EXPECT_THAT(plan.addresses,
              ElementsAre(std::pair("10.0.0.1", kLsTraffic), std::pair("10.0.0.2", kBeTraffic),
                          std::pair("fd00::3", kFirstPodTraffic)));
  EXPECT_EQ(plan.classes.back(),
            (TrafficClass{kFirstPodTraffic, kAllTraffic, 80'000'000, 80'000'000, 3}));
  EXPECT_EQ(plan.pods.at("node"), kSystemTraffic);
}

TEST(TrafficPlan, APodKeepsItsNumberAndNumbersOfGonePodsAreUsedAgain) {
  TrafficNumbers numbers;
  std::vector pods = {podOf("a", "LS", "10.0.0.1", "1M"), podOf("b", "LS", "10.0.0.2", "1M")};
  (void)planTraffic(nodeBandwidth(sloOf("10G")), pods, numbers);
  pods.erase(pods.begin());
  pods.push_back(podOf("c", "LS", "10.0.0.3", "1M"));
  const auto plan = planTraffic(nodeBandwidth(sloOf("10G")), pods, numbers);
  EXPECT_EQ(plan.pods.at("b"), kFirstPodTraffic + 1);
  EXPECT_EQ(plan.pods.at("c"), kFirstPodTraffic);
}

TEST(TrafficPlan, MoreIsPromisedThanThereIs) {
  TrafficNumbers numbers;
  NodeBandwidth bandwidth{.total = 1'000'000};
  bandwidth.ls.egressMin = bandwidth.be.egressMin = 900'000;
  const auto plan = planTraffic(bandwidth, {}, numbers);
  EXPECT_EQ(plan.classes[1].rate, 8'000u);
  EXPECT_EQ(plan.classes[2].rate, 900'000u);
}

// A network namespace with one interface, which has the default route. Its peer accepts everything
// and sends nothing.
class Network {
 public:
  Network() : route_(*netlink::Socket::open(NETLINK_ROUTE)) {
    ifinfomsg none{};
    // The kernel makes the peer and calls it veth0.
    Message plain(RTM_NEWLINK, NLM_F_CREATE, none);
    plain.addText(IFLA_IFNAME, "out0");
    plain.nest(IFLA_LINKINFO, [&] { plain.addText(IFLA_INFO_KIND, "veth"); });
    made_ = route_.request(std::move(plain));
    if (!made_) return;
    index_ = static_cast<int>(::if_nametoindex("out0"));
    for (const auto* name : {"out0", "veth0"}) up(static_cast<int>(::if_nametoindex(name)));
    for (const auto* address : {"10.77.0.1", "10.77.0.2", "10.77.0.3"}) addAddress(address);
    addDefaultRoute();
  }
  const Result<>& made() const { return made_; }
  int index() const { return index_; }
  netlink::Socket& socket() { return route_; }

  // Sends packets of 1,000 bytes from that address to an unused address.
  static void send(const char* from, int count) {
    const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    ::inet_pton(AF_INET, from, &address.sin_addr);
    EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::inet_pton(AF_INET, "10.77.0.200", &address.sin_addr);
    address.sin_port = htons(9);
    const std::string bytes(1000, 'x');
    for (int i = 0; i < count; ++i)
      ::sendto(fd, bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&address),
               sizeof address);
    ::close(fd);
  }

 private:
  void up(int index) {
    ifinfomsg header{};
    header.ifi_index = index;
    header.ifi_flags = header.ifi_change = IFF_UP | IFF_NOARP;
    EXPECT_TRUE(route_.request(Message(RTM_NEWLINK, 0, header)));
  }
  void addAddress(const char* text) {
    in_addr address;
    ::inet_pton(AF_INET, text, &address);
    ifaddrmsg header{};
    header.ifa_family = AF_INET;
    header.ifa_prefixlen = 24;
    header.ifa_index = static_cast<unsigned>(index_);
    Message message(RTM_NEWADDR, NLM_F_CREATE, header);
    message.addStruct(IFA_LOCAL, address);
    message.addStruct(IFA_ADDRESS, address);
    EXPECT_TRUE(route_.request(std::move(message)));
  }
  void addDefaultRoute() {
    rtmsg header{};
    header.rtm_family = AF_INET;
    header.rtm_table = RT_TABLE_MAIN;
    header.rtm_type = RTN_UNICAST;
    header.rtm_scope = RT_SCOPE_LINK;
    Message message(RTM_NEWROUTE, NLM_F_CREATE, header);
    message.add32(RTA_OIF, static_cast<std::uint32_t>(index_));
    EXPECT_TRUE(route_.request(std::move(message)));
  }

  netlink::Socket route_;
  Result<> made_;
  int index_ = 0;
};

// Runs in its own namespace, on a thread that ends with it.
void inNetwork(const std::function<void(Network&)>& fn) {
  std::string skipped;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) != 0) {
      skipped = "a network namespace needs root";
      return;
    }
    Network network;
    if (!network.made()) {
      skipped = "no veth: " + network.made().error().message;
      return;
    }
    auto filter = netlink::Socket::open(NETLINK_NETFILTER);
    if (!filter || !packettable::replace(*filter, TrafficPlan{}, false)) {
      skipped = "this kernel has no nf_tables";
      return;
    }
    EXPECT_TRUE(packettable::remove(*filter));
    fn(network);
  }).join();
  if (!skipped.empty()) GTEST_SKIP() << skipped;
}

TrafficPlan planOf(const std::string& total, std::span<const PodView> pods) {
  TrafficNumbers numbers;
  return planTraffic(nodeBandwidth(sloOf(total)), pods, numbers);
}

std::vector<TrafficClass> heldBy(TrafficControl& control) {
  std::vector<TrafficClass> held;
  auto classes = control.classes().value();
  for (auto& [minor, counted] : classes) {
    if (minor == kAllTraffic) counted.held.prio = 0;
    held.push_back(counted.held);
  }
  return held;
}

TEST(TrafficControl, ROOT_PacketsGoIntoTheClassesOfTheirPods) {
  inNetwork([](Network&) {
    const std::vector pods = {podOf("ls", "LS", "10.77.0.1"), podOf("be", "BE", "10.77.0.2"),
                              podOf("own", "BE", "10.77.0.3", "80M")};
    const auto plan = planOf("100G", pods);  // more than 32 bits of bytes
    auto control = *TrafficControl::open();
    const auto done = control.apply(plan, false);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(control.interface(), "out0");
    EXPECT_EQ(heldBy(control), plan.classes);
    const auto bytes = [&](std::uint32_t minor) { return control.classes()->at(minor).bytes; };
    Network::send("10.77.0.1", 5);
    EXPECT_GE(bytes(kLsTraffic), 5'000u);
    EXPECT_EQ(bytes(kBeTraffic), 0u);
    Network::send("10.77.0.2", 3);
    EXPECT_GE(bytes(kBeTraffic), 3'000u);
    Network::send("10.77.0.3", 2);
    EXPECT_GE(bytes(kFirstPodTraffic), 2'000u);
  });
}

// A cgroup of net_cls, mounted for the calling thread only. The thread is in it until destruction.
class ClassCgroup {
 public:
  ClassCgroup() {
    mounted_ = ::unshare(CLONE_NEWNS) == 0 &&
               ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("none", root_.c_str(), "cgroup", 0, "net_cls") == 0;
    if (mounted_) std::filesystem::create_directory(root_ + "/koord");
  }
  ~ClassCgroup() {
    if (!mounted_) return;
    std::ofstream(root_ + "/tasks") << ::gettid();
    std::filesystem::remove(root_ + "/koord");
    ::umount(root_.c_str());
  }
  bool mounted() const { return mounted_; }
  void enter(std::uint32_t id) {
    std::ofstream(root_ + "/koord/net_cls.classid") << id;
    std::ofstream(root_ + "/koord/tasks") << ::gettid();
  }

 private:
  TempTree tree_;
  std::string root_ = tree_.path("");
  bool mounted_ = false;
};

TEST(TrafficControl, ROOT_PacketsOfTheNodesNetworkGoIntoTheClassesOfTheirCgroups) {
  inNetwork([](Network&) {
    ClassCgroup cgroup;
    if (!cgroup.mounted()) return;  // a kernel without net_cls
    auto control = *TrafficControl::open();
    const auto done = control.apply(planOf("1G", {}), true);
    ASSERT_TRUE(done) << done.error().message;
    const auto bytes = [&](std::uint32_t minor) { return control.classes()->at(minor).bytes; };
    Network::send("10.77.0.1", 2);
    EXPECT_GE(bytes(kSystemTraffic), 2'000u);
    cgroup.enter(trafficId(kBeTraffic));
    Network::send("10.77.0.1", 3);
    EXPECT_GE(bytes(kBeTraffic), 3'000u);
  });
}

TEST(TrafficControl, ROOT_AnotherPassChangesNothingAndWhatOthersChangedIsMended) {
  inNetwork([](Network& network) {
    const std::vector pods = {podOf("ls", "LS", "10.77.0.1")};
    auto control = *TrafficControl::open();
    ASSERT_TRUE(control.apply(planOf("1G", pods), false));
    Network::send("10.77.0.1", 5);
    ASSERT_TRUE(control.apply(planOf("1G", pods), false));
    EXPECT_GE(control.classes()->at(kLsTraffic).bytes, 5'000u) << "classes are made anew";
    auto filter = *netlink::Socket::open(NETLINK_NETFILTER);
    ASSERT_TRUE(packettable::remove(filter));
    tcmsg gone{};
    gone.tcm_ifindex = network.index();
    gone.tcm_handle = trafficId(kBeTraffic);
    ASSERT_TRUE(network.socket().request(Message(RTM_DELTCLASS, 0, gone)));
    ASSERT_TRUE(control.apply(planOf("1G", pods), false));
    EXPECT_EQ(heldBy(control), planOf("1G", pods).classes);
    EXPECT_TRUE(packettable::exists(filter).value());
  });
}

TEST(TrafficControl, ROOT_LimitsChangeAndGo) {
  inNetwork([](Network&) {
    const std::vector limited = {podOf("a", "LS", "10.77.0.1", "80M")};
    const std::vector free = {podOf("a", "LS", "10.77.0.1")};
    auto control = *TrafficControl::open();
    ASSERT_TRUE(control.apply(planOf("1G", limited), false));
    const auto done = control.apply(planOf("2G", free), false);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(heldBy(control), planOf("2G", free).classes);
    ASSERT_TRUE(control.apply({}, false));
    EXPECT_TRUE(heldBy(control).empty());
    auto filter = *netlink::Socket::open(NETLINK_NETFILTER);
    EXPECT_FALSE(packettable::exists(filter).value());
    EXPECT_TRUE(control.apply({}, false)) << "nothing is there to be removed";
  });
}

TEST(TrafficControl, ROOT_AnotherKoordletTakesUpWhatTheLastOneLeft) {
  inNetwork([](Network&) {
    const std::vector pods = {podOf("a", "LS", "10.77.0.1", "80M")};
    ASSERT_TRUE(TrafficControl::open()->apply(planOf("1G", pods), false));
    auto next = *TrafficControl::open();
    const auto done = next.apply(planOf("1G", pods), false);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(heldBy(next), planOf("1G", pods).classes);
    ASSERT_TRUE(TrafficControl::open()->apply({}, false));
    EXPECT_TRUE(heldBy(next).empty());
  });
}

// The classes after a random history of NodeSLO and pods, with or without a koordlet that is killed
// and started again. The numbers of single pods' classes may differ.
std::vector<TrafficClass> afterHistory(std::uint64_t seed, bool dies) {
  std::vector<TrafficClass> held;
  inNetwork([&](Network&) {
    auto control = *TrafficControl::open();
    ASSERT_TRUE(control.apply(planOf("1G", {}), false));  // finds the interface
    ASSERT_TRUE(control.apply({}, false));
    FakeHost files(CgroupVersion::V2, {});
    const Host host = *Host::detect(files.dirs());
    std::optional<TcNetworkQosHook> hook(std::in_place, host);
    States states;
    const auto pass = [&] {
      HookUpdates updates;
      if (hook) hook->prepare(states, updates);
    };
    Random random(seed);
    std::map<std::string, PodView> pods;
    const char* totals[] = {"0", "1G", "2G"};
    for (int step = 0; step < 12; ++step) {
      if (step == 0 || random.chance(0.4))
        states.setSlo(sloOf(totals[random.below(3)], random.chance(0.7) ? "tc" : "terway-qos"));
      const auto number = random.below(5);
      const std::string uid = fmt::format("pod-{}", number);
      const bool leaves = random.chance(0.3), limited = random.chance(0.5);
      if (leaves) {
        pods.erase(uid);
      } else {
        pods.insert_or_assign(uid,
                              podOf(uid, random.chance(0.5) ? "LS" : "BE",
                                    fmt::format("10.77.0.{}", 10 + number), limited ? "80M" : ""));
      }
      std::vector<PodView> views;
      for (const auto& [name, pod] : pods) views.push_back(pod);
      states.setPods(std::move(views));
      if (random.chance(0.4) && dies) hook ? hook.reset() : (void)hook.emplace(host);
      pass();
    }
    if (!hook) hook.emplace(host);
    pass();
    held = heldBy(control);
  });
  for (auto& one : held) one.minor = std::min(one.minor, kFirstPodTraffic);
  std::ranges::sort(held, {}, [](const TrafficClass& one) {
    return std::tuple(one.minor, one.parent, one.rate, one.ceil, one.prio);
  });
  return held;
}

TEST(TrafficControl, ROOT_AKoordletThatWasKilledEndsWithTheClassesOfOneThatRanThrough) {
  for (std::uint64_t seed = 1; seed <= 10 && !HasFailure() && !IsSkipped(); ++seed)
    EXPECT_EQ(afterHistory(seed, true), afterHistory(seed, false)) << "seed " << seed;
}

TEST(TrafficControl, ROOT_AQdiscOfOthersStays) {
  inNetwork([](Network& network) {
    tcmsg root{};
    root.tcm_ifindex = network.index();
    root.tcm_handle = 0x80010000;
    root.tcm_parent = TC_H_ROOT;
    Message make(RTM_NEWQDISC, NLM_F_CREATE, root);
    make.addText(TCA_KIND, "pfifo");
    ASSERT_TRUE(network.socket().request(std::move(make)));
    auto control = *TrafficControl::open();
    const auto done = control.apply(planOf("1G", {}), false);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("out0 has a qdisc 8001: of kind pfifo"));
  });
}

// A cgroup of version 2 with this thread's process in it. Destruction removes the cgroup.
class UnifiedCgroup {
 public:
  explicit UnifiedCgroup(const std::string& mountPoint) : root_(mountPoint) {
    std::filesystem::create_directories(root_);
    mounted_ = ::mount("none", root_.c_str(), "cgroup2", 0, nullptr) == 0;
    dir_ = fmt::format("{}/tc-test-{}/pod", root_, ::getpid());
    if (mounted_) std::filesystem::create_directories(dir_);
  }
  ~UnifiedCgroup() {
    if (!mounted_) return;
    enter(root_);
    ::rmdir(dir_.c_str());
    ::rmdir(dir_.substr(0, dir_.rfind('/')).c_str());
    ::umount2(root_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }
  std::uint64_t id() const {
    struct stat info{};
    EXPECT_EQ(::stat(dir_.c_str(), &info), 0);
    return info.st_ino;
  }
  void enter() const { enter(dir_); }

 private:
  static void enter(const std::string& dir) {
    std::ofstream(dir + "/cgroup.procs") << ::getpid() << std::endl;
  }
  std::string root_, dir_;
  bool mounted_ = false;
};

TEST(TrafficControl, ROOT_PacketsOfTheNodesNetworkGoIntoTheClassesOfTheirCgroupsOfVersion2) {
  const TempTree tree;
  UnifiedCgroup cgroup(tree.path("unified"));
  if (!cgroup.mounted()) GTEST_SKIP() << "no cgroup of version 2 can be mounted here";
  inNetwork([&](Network&) {
    TrafficPlan plan = planOf("1G", {});
    plan.cgroups[cgroup.id()] = {2, kBeTraffic};
    if (auto tried = *netlink::Socket::open(NETLINK_NETFILTER);
        !packettable::replace(tried, plan, false))
      GTEST_SKIP() << "this kernel has no nft_socket";
    auto control = *TrafficControl::open();
    const auto done = control.apply(plan, false);
    ASSERT_TRUE(done) << done.error().message;
    const auto bytes = [&](std::uint32_t minor) { return control.classes()->at(minor).bytes; };
    Network::send("10.77.0.1", 3);
    EXPECT_EQ(bytes(kBeTraffic), 0u);
    EXPECT_GE(bytes(kSystemTraffic), 3'000u);
    cgroup.enter();
    Network::send("10.77.0.1", 5);
    EXPECT_GE(bytes(kBeTraffic), 5'000u);
  });
}

TEST(TrafficControl, ROOT_AThousandPods) {
  inNetwork([](Network&) {
    std::vector<PodView> pods;
    for (int i = 0; i < 1000; ++i)
      pods.push_back(podOf(fmt::format("p{}", i), "BE", fmt::format("10.{}.{}.7", i / 200, i % 200),
                           i % 10 == 0 ? "1M" : ""));
    pods.push_back(podOf("ls", "LS", "10.77.0.1"));
    auto control = *TrafficControl::open();
    const auto done = control.apply(planOf("1G", pods), false);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(control.classes()->size(), 4u + 100);
    Network::send("10.77.0.1", 1);
    EXPECT_GE(control.classes()->at(kLsTraffic).bytes, 1'000u);
  });
}

TEST(TrafficControl, ROOT_MoreAddressesThanOneMessageTakes) {
  inNetwork([](Network&) {
    TrafficPlan plan = planOf("1G", {});
    for (int i = 0; i < 10'000; ++i) {
      plan.addresses[fmt::format("10.{}.{}.7", i / 200, i % 200)] = kLsTraffic;
      plan.addresses[fmt::format("fd00::{:x}:7", i)] = kLsTraffic;
    }
    plan.addresses["10.77.0.1"] = kBeTraffic;
    auto control = *TrafficControl::open();
    const auto done = control.apply(plan, false);
    ASSERT_TRUE(done) << done.error().message;
    Network::send("10.77.0.1", 3);
    EXPECT_GE(control.classes()->at(kBeTraffic).bytes, 3'000u);
  });
}

class TcHookTest : public testing::Test {
 protected:
  TcHookTest() {
    files_.tree().makeDir("cgroup/net_cls/kubepods");
    host_.emplace(*Host::detect(files_.dirs()));
    hook_.emplace(*host_);
  }
  HookUpdates pass(const EffectiveSlo& slo, const std::vector<PodView>& pods) {
    states_.setSlo(slo);
    states_.setPods(pods);
    HookUpdates updates;
    hook_->prepare(states_, updates);
    for (const auto& pod : pods) hook_->wanted(pod, updates);
    return updates;
  }
  static std::vector<std::string> ids(const HookUpdates& updates) {
    std::vector<std::string> values;
    for (const auto& update : updates.pods)
      if (update.file == CgroupFile::NetClsClassId) values.push_back(update.value);
    return values;
  }

  FakeHost files_{CgroupVersion::V1, {}};
  std::optional<Host> host_;
  States states_;
  std::optional<TcNetworkQosHook> hook_;
};

TEST_F(TcHookTest, ProcessesInTheNodesNetworkAreKnownByTheirCgroup) {
  inNetwork([&](Network&) {
    const std::vector pods = {podOf("be", "BE", "10.0.0.2"), podOf("own", "LS", "10.0.0.3", "80M"),
                              podOf("node", "SYSTEM", "192.168.0.1", "", true)};
    EXPECT_THAT(ids(pass(sloOf("1G"), pods)), ElementsAre("65540", "65792", "65538"));
    EXPECT_THAT(ids(pass(sloOf("1G", "terway-qos"), pods)), ElementsAre("0", "0", "0"));
    EXPECT_THAT(ids(pass(sloOf("1G", "terway-qos"), pods)), ElementsAre());
  });
}

TEST_F(TcHookTest, IdsOfAFormerProcessAreTakenBackAndThoseOfOthersAreNot) {
  inNetwork([&](Network&) {
    const std::vector pods = {podOf("be", "BE", "10.0.0.2"), podOf("own", "LS", "10.0.0.3")};
    files_.tree().write("cgroup/net_cls/kubepods/net_cls.classid", "0\n");
    files_.tree().write("cgroup/net_cls/" + pods[0].dir + "/net_cls.classid", "65540\n");
    files_.tree().write("cgroup/net_cls/" + pods[1].dir + "/net_cls.classid", "131072\n");
    EXPECT_THAT(ids(pass(sloOf("1G", "terway-qos"), pods)), ElementsAre("0"));
  });
}

TEST(TcHook, OnVersion2PodsInTheNodesNetworkAreKnownByTheirOwnCgroup) {
  FakeHost files(CgroupVersion::V2, {});
  const auto dir = files.addPod(KubeQos::Burstable, "node", {});
  const Host host = *Host::detect(files.dirs());
  inNetwork([&](Network&) {
    TcNetworkQosHook hook(host);
    States states;
    states.setSlo(sloOf("1G"));
    states.setPods({podOf("node", "BE", "192.168.0.1", "", true), podOf("own", "LS", "10.0.0.3"),
                    podOf("gone", "BE", "192.168.0.1", "", true),
                    podOf("system", "SYSTEM", "192.168.0.1", "", true)});
    HookUpdates updates;
    hook.prepare(states, updates);
    struct stat info{};
    ASSERT_EQ(::stat(host.layout.dir(Subsystem::Cpu, dir).c_str(), &info), 0);
    ASSERT_EQ(hook.plan().cgroups.size(), 1U);
    EXPECT_EQ(hook.plan().cgroups.begin()->first, info.st_ino);
    EXPECT_EQ(hook.plan().cgroups.begin()->second, (TrafficPlan::OfCgroup{3, kBeTraffic}));
  });
}

}  // namespace
}  // namespace koord::koordlet
