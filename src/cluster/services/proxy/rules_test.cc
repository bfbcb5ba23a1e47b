#include "cluster/services/proxy/rules.h"

#include <gmock/gmock.h>

#include "base/yaml.h"
#include "cluster/services/proxy/service_device.h"

namespace koord::cluster::services {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

template <class T>
std::shared_ptr<const T> read(std::string_view yaml) {
  return std::make_shared<const T>(api::decode<T>(parseYaml(yaml).value()).value());
}

ServicePtr web(const std::string& more = "") {
  return read<Service>(
      "metadata: {name: web, namespace: default}\n"
      "spec:\n"
      "  clusterIP: 10.96.3.4\n"
      "  type: LoadBalancer\n"
      "  ports: [{name: http, port: 80, nodePort: 30080}, {name: dns, port: 53, protocol: UDP}]\n" +
      more);
}

SlicePtr endpoints(const std::string& list) {
  return read<EndpointSlice>(
      "metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}\n"
      "addressType: IPv4\n"
      "ports: [{name: http, port: 8080, protocol: TCP}]\n"
      "endpoints: " +
      list);
}

TEST(ServiceRulesTest, AServiceHasItsAddressesAndTheEndpointsOfEachPort) {
  const auto rules = rulesOf({web()}, {endpoints("[{addresses: [127.0.0.1], nodeName: host}]")},
                             {"host"}, "127.0.0.1");
  ASSERT_THAT(rules, SizeIs(2));
  EXPECT_THAT(rules[0].fronts,
              ElementsAre(AddressPort{"10.96.3.4", 80}, AddressPort{"127.0.0.1", 30080},
                          AddressPort{"127.96.3.4", 80}));
  EXPECT_THAT(rules[0].backends, ElementsAre(AddressPort{"127.0.0.1", 8080}));
  EXPECT_EQ(rules[1].protocol, "udp");
  EXPECT_THAT(rules[1].backends, IsEmpty());
}

TEST(ServiceRulesTest, PodsThatShareAnAddressAndPortAreOneEndpointAndSimulatedOnesAreNone) {
  const auto rules =
      rulesOf({web()},
              {endpoints("[{addresses: [127.0.0.1], nodeName: host}, {addresses: [127.0.0.1]},\n"
                         "{addresses: [10.244.1.1], nodeName: sim-0}]")},
              {"host"}, "127.0.0.1");
  EXPECT_THAT(rules[0].backends, ElementsAre(AddressPort{"127.0.0.1", 8080}));
}

TEST(ServiceRulesTest, TerminatingEndpointsServeOnlyWithoutReadyOnes) {
  const std::string leaving =
      "{addresses: [127.0.0.2], conditions: {ready: false, serving: true, terminating: true}}";
  const std::string unready = "{addresses: [127.0.0.3], conditions: {ready: false}}";
  const std::string ready = "{addresses: [127.0.0.1], conditions: {ready: true}}";
  const auto some = rulesOf({web()}, {endpoints("[" + leaving + "," + ready + "]")}, {"host"}, "");
  EXPECT_THAT(some[0].backends, ElementsAre(AddressPort{"127.0.0.1", 8080}));
  const auto none =
      rulesOf({web()}, {endpoints("[" + leaving + "," + unready + "]")}, {"host"}, "");
  EXPECT_THAT(none[0].backends, ElementsAre(AddressPort{"127.0.0.2", 8080}));
}

TEST(ServiceRulesTest, AddressesThatAreNotIpv4AreLeftOut) {
  const auto headless = read<Service>(
      "metadata: {name: set, namespace: default}\nspec: {clusterIP: None, ports: [{port: 80}]}");
  const auto six = read<Service>(
      "metadata: {name: six, namespace: default}\nspec: {clusterIP: 'fd00::1', ports: [{port: "
      "80}]}");
  const auto sctp = read<Service>(
      "metadata: {name: sctp, namespace: default}\n"
      "spec: {clusterIP: 10.96.0.9, ports: [{port: 80, protocol: SCTP}]}");
  EXPECT_THAT(rulesOf({headless, six, sctp}, {}, {"host"}, "127.0.0.1"), IsEmpty());
  const auto rules = rulesOf({web()}, {endpoints("[{addresses: ['; drop']}]")}, {"host"}, "");
  EXPECT_THAT(rules[0].backends, IsEmpty()) << "no text of users gets into commands";
}

TEST(ServiceRulesTest, AddressesOutsideOfTheRangeAreNotTranslated) {
  for (const char* ip : {"8.8.8.8", "127.0.0.1", "10.95.255.255", "10.112.0.0"}) {
    const auto service =
        read<Service>(std::string("metadata: {name: x, namespace: default}\nspec: {clusterIP: ") +
                      ip + ", type: LoadBalancer, ports: [{port: 443, nodePort: 30443}]}");
    EXPECT_THAT(rulesOf({service}, {}, {"host"}, "127.0.0.1"), IsEmpty()) << ip;
    EXPECT_EQ(loadBalancerIp(*service), "") << ip;
  }
}

TEST(ServiceRulesTest, NothingInAnObjectMakesTheTableInvalid) {
  const auto slice = [](std::string ip, int port) {
    auto out = std::make_shared<EndpointSlice>(*endpoints("[{addresses: [127.0.0.1]}]"));
    Endpoint endpoint;
    endpoint.addresses = {std::move(ip)};
    out->endpoints = {endpoint};
    out->ports = {EndpointPort{"http", "TCP", port, std::nullopt}};
    return out;
  };
  for (const auto& bad : {slice("127.0.0.1", 0), slice("127.0.0.1", -1), slice("127.0.0.1", 65536),
                          slice(std::string("127.0.0.1\0 }", 12), 80)})
    EXPECT_THAT(rulesOf({web()}, {bad}, {"host"}, "127.0.0.1")[0].backends, IsEmpty());
  EXPECT_FALSE(isIpv4(std::string("10.96.0.1\0", 10)));
}

TEST(ServiceRulesTest, NodesThatJoinedHaveEndpointsForClusterIps) {
  const auto rules = rulesOf(
      {web()},
      {endpoints("[{addresses: [127.0.0.1], nodeName: host}, {addresses: [192.0.2.7], nodeName: "
                 "laptop}]")},
      {"host", "laptop"}, "127.0.0.1");
  ASSERT_THAT(rules, SizeIs(3));
  EXPECT_THAT(rules[0].fronts,
              ElementsAre(AddressPort{"127.0.0.1", 30080}, AddressPort{"127.96.3.4", 80}));
  EXPECT_THAT(rules[0].backends, ElementsAre(AddressPort{"127.0.0.1", 8080}))
      << "packets from 127.0.0.1 do not leave the host";
  EXPECT_THAT(rules[1].fronts, ElementsAre(AddressPort{"10.96.3.4", 80}));
  EXPECT_THAT(rules[1].backends,
              ElementsAre(AddressPort{"127.0.0.1", 8080}, AddressPort{"192.0.2.7", 8080}));
}

TEST(ServiceRulesTest, ConnectionsOfOtherProgramsKeepTheirSource) {
  EXPECT_THAT(tableText({}, "t", "dev0"),
              HasSubstr("ip saddr 10.111.254.255 ct status dnat oifname != \"lo\" masquerade"));
}

TEST(ServiceRulesTest, AnAddressOfTwoServicesBelongsToTheFirst) {
  const auto other = read<Service>(
      "metadata: {name: zoo, namespace: default}\n"
      "spec: {clusterIP: 10.96.3.4, ports: [{port: 80}, {name: x, port: 81}]}");
  const auto rules = rulesOf({other, web()}, {}, {"host"}, "127.0.0.1");
  ASSERT_THAT(rules, SizeIs(3));
  EXPECT_EQ(rules[0].service, "default/web:80");
  EXPECT_EQ(rules[2].service, "default/zoo:81");
}

TEST(ServiceRulesTest, TheTableTranslatesBalancesAndRefuses) {
  const auto rules = rulesOf({web("  sessionAffinity: ClientIP\n")},
                             {endpoints("[{addresses: [127.0.0.1]}, {addresses: [127.0.0.2]}]")},
                             {"host"}, "127.0.0.1");
  const std::string text = tableText(rules, "t", "dev0");
  EXPECT_THAT(text, HasSubstr("10.96.3.4 . tcp . 80 : goto s0, 127.0.0.1 . tcp . 30080 : goto s0"));
  EXPECT_THAT(text, HasSubstr("dnat ip to jhash ip saddr mod 2 map { 0 : 127.0.0.1 . 8080, "
                              "1 : 127.0.0.2 . 8080 }"));
  EXPECT_THAT(text, HasSubstr("10.96.3.4 . udp . 53 : goto refuse"));
  const auto one = rulesOf({web()}, {endpoints("[{addresses: [127.0.0.1]}]")}, {"host"}, "");
  EXPECT_THAT(tableText(one, "t", "dev0"),
              HasSubstr("meta l4proto tcp dnat ip to ip daddr . tcp dport map { 10.96.3.4 . 80 : "
                        "127.0.0.1 . 8080, 127.96.3.4 . 80 : 127.0.0.1 . 8080 }"));
  EXPECT_THAT(text, HasSubstr("oifname \"dev0\" ip daddr 10.96.0.0/12 goto refuse"));
  EXPECT_THAT(tableText({}, "t", "dev0"), Not(HasSubstr("vmap"))) << "nft has no empty maps";
}

TEST(ServiceDeviceTest, AHostKeepsItsNameServers) {
  const std::string routes =
      "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
      "eth0\t00000000\t0100020A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n"
      "tun0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n"
      "eth0\t0005640A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n"
      "koordctl0\t0000600A\t00000000\t0001\t0\t0\t0\t0000F0FF\t0\t0\t0\n";
  const auto hidden = [&](const char* servers) { return hiddenNameservers(servers, routes); };
  EXPECT_EQ(hidden("nameserver 10.100.0.2\nnameserver 10.96.0.10\n"), "10.100.0.2, 10.96.0.10");
  EXPECT_EQ(hidden("nameserver 10.100.0.2\nnameserver 192.0.2.1\n"), "");
  EXPECT_EQ(hidden("nameserver 10.100.5.1\n"), "") << "eth0 has a route of its own to it";
  EXPECT_EQ(hidden("nameserver 10.112.0.2\n"), "");
  EXPECT_EQ(hidden("nameserver fd00::1\n"), "");
  EXPECT_EQ(hidden(""), "");
}

TEST(ServiceRulesTest, LoadBalancersOfOtherClassesHaveNoAddress) {
  EXPECT_EQ(loadBalancerIp(*web()), "127.96.3.4");
  EXPECT_EQ(loadBalancerIp(*web("  loadBalancerClass: example.com/lb\n")), "");
}

}  // namespace
}  // namespace koord::cluster::services
