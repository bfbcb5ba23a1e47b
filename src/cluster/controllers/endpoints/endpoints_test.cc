// Endpoints of services: which pods, under which ports, in which objects.

#include <gmock/gmock.h>

#include "cluster/controllers/controllers_testing.h"
#include "cluster/controllers/endpoints/endpoint_plan.h"

namespace koord::cluster {
namespace {

using services::EndpointSlice;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class EndpointsTest : public ControllersTest {
 protected:
  void createPod(const std::string& name, const std::string& ip, const std::string& more = "",
                 int port = 8080) {
    cluster.create("apiVersion: v1\nkind: Pod\nmetadata: {name: " + name +
                   ", labels: {app: web}}\nspec:\n  nodeName: box\n  containers: [{name: c, image: "
                   "i, ports: [{name: http, containerPort: " +
                   std::to_string(port) + "}]}]\n" + more);
    setReady(name, ip, true);
  }
  void setReady(const std::string& name, const std::string& ip, bool ready) {
    cluster.patch<api::Pod>(name,
                            "status: {phase: Running, podIP: " + ip + ", podIPs: [{ip: " + ip +
                                "}], conditions: [{type: Ready, status: '" +
                                (ready ? "True" : "False") + "'}]}",
                            "status");
    cluster.loop.advance(1s);
  }
  void createService(const std::string& spec = "ports: [{port: 80, targetPort: http}]") {
    cluster.create(
        "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {selector: {app: "
        "web}, " +
        spec + "}\n");
    cluster.loop.advance(1s);
  }
  std::vector<EndpointSlice> slices() {
    return cluster.list<EndpointSlice>("kubernetes.io/service-name=web");
  }
  std::vector<std::string> readyAddresses() {
    std::vector<std::string> found;
    for (const auto& slice : slices())
      for (const auto& endpoint : slice.endpoints)
        if (endpoint.conditions.ready.value_or(true)) found.push_back(*endpoint.addresses.begin());
    std::ranges::sort(found);
    return found;
  }
};

TEST_F(EndpointsTest, FollowThePods) {
  createPod("a", "10.0.0.1");
  createService();
  createPod("b", "10.0.0.2");
  EXPECT_THAT(readyAddresses(), ElementsAre("10.0.0.1", "10.0.0.2"));
  ASSERT_THAT(slices(), SizeIs(1));
  EXPECT_EQ(slices()[0].ports.begin()->port, 8080);
  setReady("a", "10.0.0.1", false);
  EXPECT_THAT(readyAddresses(), ElementsAre("10.0.0.2"));
  const auto endpoints = cluster.get<services::Endpoints>("web");
  ASSERT_TRUE(endpoints);
  ASSERT_THAT(endpoints->subsets, SizeIs(1));
  EXPECT_EQ(endpoints->subsets.begin()->addresses.begin()->ip, "10.0.0.2");
  EXPECT_EQ(endpoints->subsets.begin()->notReadyAddresses.begin()->ip, "10.0.0.1");
  cluster.patch<api::Pod>("b", "metadata: {labels: {app: other}}");
  cluster.loop.advance(1s);
  EXPECT_THAT(readyAddresses(), IsEmpty());
  cluster.remove<services::Service>("web");
  EXPECT_TRUE(
      cluster.until([&] { return slices().empty() && !cluster.get<services::Endpoints>("web"); }));
}

TEST_F(EndpointsTest, NamedPortsMayDifferByPod) {
  createPod("a", "10.0.0.1", "", 8080);
  createPod("b", "10.0.0.2", "", 9090);
  createService();
  EXPECT_THAT(slices(), SizeIs(2));
  EXPECT_THAT(cluster.get<services::Endpoints>("web")->subsets, SizeIs(2));
}

TEST_F(EndpointsTest, PodsOfHeadlessServicesHaveNames) {
  createPod("a", "10.0.0.1", "  hostname: first\n  subdomain: web\n");
  createService("clusterIP: None, ports: [{port: 80}]");
  ASSERT_THAT(slices(), SizeIs(1));
  EXPECT_EQ(slices()[0].endpoints.begin()->hostname, "first");
  EXPECT_TRUE(slices()[0].metadata.labels.contains("service.kubernetes.io/headless"));
}

TEST_F(EndpointsTest, AServiceWithoutPodsHasAnEmptySlice) {
  createService();
  ASSERT_THAT(slices(), SizeIs(1));
  EXPECT_THAT(slices()[0].endpoints, IsEmpty());
}

TEST_F(EndpointsTest, ConditionsSayWhatThePodIs) {
  createPod("a", "10.0.0.1");
  setReady("a", "10.0.0.1", false);
  createService("publishNotReadyAddresses: true, ports: [{port: 80}]");
  ASSERT_THAT(slices(), SizeIs(1));
  const auto& endpoint = *slices()[0].endpoints.begin();
  EXPECT_EQ(endpoint.conditions, (services::EndpointConditions{true, false, false}))
      << "published, but it does not serve";
}

TEST_F(EndpointsTest, APodWithoutTheNamedPortIsAnEndpointWithoutPorts) {
  createPod("a", "10.0.0.1");
  createService("ports: [{port: 80, targetPort: other}]");
  ASSERT_THAT(slices(), SizeIs(1));
  EXPECT_THAT(slices()[0].ports, IsEmpty());
  EXPECT_THAT(readyAddresses(), ElementsAre("10.0.0.1"));
  EXPECT_THAT(cluster.get<services::Endpoints>("web")->subsets, IsEmpty());
}

TEST_F(EndpointsTest, APodWithAnIpv6AddressDoesNotStopTheOthers) {
  createPod("a", "10.0.0.1");
  createPod("b", "'fd00::2'");
  createService();
  EXPECT_THAT(readyAddresses(), ElementsAre("10.0.0.1"));
  setReady("a", "10.0.0.1", false);
  EXPECT_THAT(readyAddresses(), IsEmpty());
}

TEST_F(EndpointsTest, MirroredSlicesEndWhenTheServiceSelectsPods) {
  cluster.create(
      "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n---\n"
      "apiVersion: v1\nkind: Endpoints\nmetadata: {name: web}\n"
      "subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 8080}]}]\n");
  cluster.loop.advance(1s);
  createPod("a", "10.0.0.1");
  cluster.patch<services::Service>("web", "spec: {selector: {app: web}}");
  cluster.loop.advance(1s);
  EXPECT_THAT(readyAddresses(), ElementsAre("10.0.0.1"));
}

TEST_F(EndpointsTest, EndpointsStayWhenTheSelectorGoes) {
  createPod("a", "10.0.0.1");
  createService();
  cluster.patch<services::Service>("web", "spec: {selector: null}");
  cluster.loop.advance(1s);
  ASSERT_THAT(slices(), SizeIs(1));
  EXPECT_EQ(slices()[0].metadata.labels[services::kManagedByLabel],
            "endpointslicemirroring-controller.k8s.io");
  EXPECT_THAT(readyAddresses(), ElementsAre("10.0.0.1"));
}

TEST_F(EndpointsTest, AllAddressesOfUsersAreMirrored) {
  cluster.create(
      "apiVersion: v1\nkind: Service\nmetadata: {name: web, labels: {of: service}}\n"
      "spec: {ports: [{port: 80}]}\n---\n"
      "apiVersion: v1\nkind: Endpoints\nmetadata: {name: web, labels: {of: endpoints}}\n"
      "subsets: [{addresses: [{ip: 192.0.2.1, targetRef: {kind: Pod, name: a}},\n"
      "  {ip: 192.0.2.2, targetRef: {kind: Pod, name: b}}, {ip: '2001:db8::1'}],\n"
      "  ports: [{port: 8080}]}]\n");
  cluster.loop.advance(1s);
  EXPECT_THAT(readyAddresses(), ElementsAre("192.0.2.1", "192.0.2.2", "2001:db8::1"));
  ASSERT_THAT(slices(), SizeIs(2)) << "one for each type of addresses";
  EXPECT_EQ(slices()[0].metadata.labels["of"], "endpoints");
  cluster.patch<services::Endpoints>(
      "web", "metadata: {annotations: {control-plane.alpha.kubernetes.io/leader: x}}");
  EXPECT_TRUE(cluster.until([&] { return slices().empty(); })) << "it only elects a leader";
}

TEST_F(EndpointsTest, EndpointsOfUsersAreMirrored) {
  cluster.create(
      "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n---\n"
      "apiVersion: v1\nkind: Endpoints\nmetadata: {name: web}\n"
      "subsets: [{addresses: [{ip: 192.0.2.1}], ports: [{port: 8080}]}]\n");
  cluster.loop.advance(1s);
  EXPECT_THAT(readyAddresses(), ElementsAre("192.0.2.1"));
  cluster.remove<services::Endpoints>("web");
  EXPECT_TRUE(cluster.until([&] { return slices().empty(); }));
}

services::Endpoint endpoint(int number) {
  services::Endpoint out;
  out.addresses = {"10.0.0." + std::to_string(number)};
  out.targetRef = services::TargetRef{"Pod", "default", "p" + std::to_string(number),
                                      "uid-" + std::to_string(number)};
  return out;
}

TEST(EndpointPlanTest, TruncatedEndpointsHaveTheReadyOnes) {
  std::vector<services::Endpoint> all;
  for (int i = 0; i < 1500; ++i) {
    all.push_back(endpoint(i));
    all.back().conditions.ready = i >= 1000;
  }
  const auto plan = planSubsets({}, {{{}, all}});
  EXPECT_TRUE(plan.truncated);
  EXPECT_THAT(plan.subsets.begin()->addresses, SizeIs(500));
  EXPECT_THAT(plan.subsets.begin()->notReadyAddresses, SizeIs(500));
}

TEST(EndpointPlanTest, SlicesHaveAtMostAHundredAndChangeLittle) {
  services::Service service;
  service.metadata.name = "web";
  service.metadata.uid = "u";
  std::vector<services::Endpoint> all;
  for (int i = 0; i < 250; ++i) all.push_back(endpoint(i));
  const std::vector<services::EndpointPort> ports{{"http", "TCP", 80}};
  auto plan = planSlices(service, {{ports, all}}, {});
  ASSERT_THAT(plan.create, SizeIs(3));
  std::vector<std::shared_ptr<const EndpointSlice>> existing;
  for (auto& slice : plan.create)
    existing.push_back(std::make_shared<const EndpointSlice>(std::move(slice)));

  plan = planSlices(service, {{ports, all}}, existing);
  EXPECT_TRUE(plan.create.empty() && plan.update.empty() && plan.remove.empty());
  all.erase(all.begin());
  plan = planSlices(service, {{ports, all}}, existing);
  EXPECT_THAT(plan.update, SizeIs(1)) << "one pod, one slice";
  EXPECT_THAT(plan.create, IsEmpty());
  plan = planSlices(service, {}, existing);
  EXPECT_THAT(plan.remove, SizeIs(3));
  EXPECT_THAT(plan.create, SizeIs(1)) << "an empty one remains";
}

}  // namespace
}  // namespace koord::cluster
