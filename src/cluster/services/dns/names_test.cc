#include "cluster/services/dns/names.h"

#include <gmock/gmock.h>

#include "base/yaml.h"
#include "cluster/services/dns/resolver_config.h"

namespace koord::cluster::services {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

template <class T>
std::shared_ptr<const T> parsed(std::string_view yaml) {
  return std::make_shared<const T>(api::decode<T>(parseYaml(yaml).value()).value());
}

class ServiceNamesTest : public ::testing::Test {
 protected:
  std::optional<net::dns::Answer> ask(const std::string& name) const {
    return names.answer({name, 1});
  }

  ServiceNames names{
      {parsed<Service>("metadata: {name: web, namespace: shop}\n"
                       "spec: {clusterIP: 10.96.3.4, ports: [{name: http, port: 80}]}"),
       parsed<Service>("metadata: {name: db, namespace: shop}\n"
                       "spec: {clusterIP: None, ports: [{name: sql, port: 5432}]}"),
       parsed<Service>("metadata: {name: out, namespace: shop}\n"
                       "spec: {type: ExternalName, externalName: example.com}")},
      {parsed<EndpointSlice>(
          "metadata: {name: db-1, namespace: shop, labels: {kubernetes.io/service-name: db}}\n"
          "addressType: IPv4\n"
          "ports: [{name: sql, port: 5432, protocol: TCP}]\n"
          "endpoints:\n"
          "- {addresses: [10.244.1.1], hostname: db-0}\n"
          "- {addresses: [10.244.1.2]}\n"
          "- {addresses: [10.244.1.3], conditions: {ready: false}}\n")}};
};

TEST_F(ServiceNamesTest, ServicesHaveTheirAddressAndPorts) {
  EXPECT_THAT(ask("web.shop.svc.cluster.local")->addresses, ElementsAre("10.96.3.4"));
  EXPECT_EQ(ask("4.3.96.10.in-addr.arpa")->pointer, "web.shop.svc.cluster.local");
  EXPECT_THAT(ask("_http._tcp.web.shop.svc.cluster.local")->services,
              ElementsAre(net::dns::Service{80, "web.shop.svc.cluster.local"}));
  EXPECT_EQ(ask("out.shop.svc.cluster.local")->alias, "example.com");
}

TEST_F(ServiceNamesTest, HeadlessServicesHaveTheirReadyEndpoints) {
  EXPECT_THAT(ask("db.shop.svc.cluster.local")->addresses, ElementsAre("10.244.1.1", "10.244.1.2"));
  EXPECT_THAT(ask("db-0.db.shop.svc.cluster.local")->addresses, ElementsAre("10.244.1.1"));
  EXPECT_THAT(ask("10-244-1-2.db.shop.svc.cluster.local")->addresses, ElementsAre("10.244.1.2"));
  EXPECT_EQ(ask("_sql._tcp.db.shop.svc.cluster.local")->services.size(), 2u);
}

TEST_F(ServiceNamesTest, NamesAboveExistAndOthersDoNot) {
  EXPECT_TRUE(ask("shop.svc.cluster.local")->exists);
  EXPECT_THAT(ask("_tcp.db.shop.svc.cluster.local")->addresses, IsEmpty());
  EXPECT_FALSE(ask("nothing.shop.svc.cluster.local")->exists);
  EXPECT_FALSE(ask("example.com.shop.svc.cluster.local")->exists);
  EXPECT_EQ(ask("example.com"), std::nullopt) << "not of this cluster";
  EXPECT_EQ(ask("notcluster.local"), std::nullopt);
  EXPECT_THAT(ask("10-1-2-3.shop.pod.cluster.local")->addresses, ElementsAre("10.1.2.3"));
  EXPECT_FALSE(ask("x-1-2-3.shop.pod.cluster.local")->exists);
}

TEST(ManyNamesTest, AHundredThousandEndpointsTakeNoMinutes) {
  const auto service = parsed<Service>(
      "metadata: {name: big, namespace: shop}\nspec: {clusterIP: None, ports: [{name: x, port: "
      "1}]}");
  std::vector<SlicePtr> slices;
  for (int i = 0; i < 100; ++i) {
    auto slice = std::make_shared<EndpointSlice>(*parsed<EndpointSlice>(
        "metadata: {name: s, namespace: shop, labels: {kubernetes.io/service-name: big}}\n"
        "addressType: IPv4\nports: [{name: x, port: 1, protocol: TCP}]\n"));
    for (int k = 0; k < 1000; ++k) {
      Endpoint endpoint;
      endpoint.addresses = {"10.1." + std::to_string(i) + "." + std::to_string(k % 250)};
      endpoint.hostname = "h-" + std::to_string(i) + "-" + std::to_string(k);
      slice->endpoints.push_back(std::move(endpoint));
    }
    slices.push_back(std::move(slice));
  }
  const ServiceNames names({service}, slices);
  EXPECT_EQ(names.answer({"big.shop.svc.cluster.local", 1})->addresses.size(), 4000u)
      << "more do not fit into a message";
  EXPECT_THAT(names.answer({"h-99-999.big.shop.svc.cluster.local", 1})->addresses,
              ElementsAre("10.1.99.249"));
}

TEST(ResolverConfigTest, PoliciesOfPods) {
  const std::string host = "# here\nnameserver 192.0.2.1\nsearch example.com\noptions rotate\n";
  const auto text = [&](PodDns dns) { return resolvConfOf(dns, "shop", host, "10.96.0.10"); };
  EXPECT_EQ(text({}),
            "search shop.svc.cluster.local svc.cluster.local cluster.local example.com\n"
            "nameserver 10.96.0.10\noptions ndots:5\n");
  EXPECT_EQ(text({"Default"}), std::nullopt);
  EXPECT_EQ(text({"ClusterFirst", {}, true}), std::nullopt);
  EXPECT_NE(text({"ClusterFirstWithHostNet", {}, true}), std::nullopt);
  EXPECT_EQ(resolvConfOf({}, "shop", host, ""), std::nullopt) << "without a server";
  const auto config = *parseYaml(
      "{nameservers: [1.1.1.1], searches: [a.b], options: [{name: ndots, value: '2'}, {name: "
      "edns0}]}");
  EXPECT_EQ(text({"None", config}), "search a.b\nnameserver 1.1.1.1\noptions ndots:2 edns0\n");
  EXPECT_EQ(text({"", config}),
            "search shop.svc.cluster.local svc.cluster.local cluster.local example.com a.b\n"
            "nameserver 10.96.0.10\nnameserver 1.1.1.1\noptions ndots:2 edns0\n");
}

}  // namespace
}  // namespace koord::cluster::services
