#include "scheduler/plugins/dynamicresources/extended_resources.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scheduler/testing/builders.h"

namespace koord::scheduler {
namespace {

constexpr const char* kGpu = "example.com/gpu";

api::Container container(const std::string& name, const std::string& gpus,
                         const std::string& restartPolicy = "") {
  api::Container out;
  out.name = name;
  out.restartPolicy = restartPolicy;
  out.resources.requests["cpu"] = testing::quantity("1");
  if (!gpus.empty()) out.resources.requests[kGpu] = testing::quantity(gpus);
  return out;
}

// "request=count, ...; container->request, ..."
std::string requestsOf(const std::vector<api::Container>& init,
                       const std::vector<api::Container>& containers) {
  api::Pod pod;
  for (const auto& each : init) pod.spec.initContainers.push_back(each);
  for (const auto& each : containers) pod.spec.containers.push_back(each);
  const ExtendedRequests found = extendedRequestsOf(pod, {{kGpu, "gpu"}});
  std::string text;
  for (const auto& request : found.requests) {
    EXPECT_EQ(request.exactly->deviceClassName, "gpu");
    text += fmt::format("{}={} ", request.name, request.exactly->count);
  }
  for (const auto& mapping : found.mappings)
    text += fmt::format("{}->{} ", mapping.containerName, mapping.requestName);
  return text;
}

TEST(ExtendedResources, each_container_has_a_request_of_its_own) {
  EXPECT_EQ(requestsOf({}, {container("a", "1"), container("b", ""), container("c", "2")}),
            "container-0-request-1=1 container-2-request-1=2 a->container-0-request-1 "
            "c->container-2-request-1 ");
}

TEST(ExtendedResources, init_containers_use_the_devices_of_later_containers) {
  EXPECT_EQ(requestsOf({container("i", "2")}, {container("a", "1"), container("b", "1")}),
            "container-1-request-1=1 container-2-request-1=1 a->container-1-request-1 "
            "b->container-2-request-1 i->container-1-request-1 i->container-2-request-1 ");
}

TEST(ExtendedResources, what_init_containers_need_in_addition_is_one_request) {
  EXPECT_EQ(requestsOf({container("i", "2"), container("j", "4")}, {container("a", "1")}),
            "container-1-request-1=3 container-2-request-1=1 a->container-2-request-1 "
            "i->container-2-request-1 i->container-1-request-1 j->container-2-request-1 "
            "j->container-1-request-1 ");
}

TEST(ExtendedResources, sidecars_keep_their_devices) {
  EXPECT_EQ(requestsOf({container("s", "1", "Always"), container("i", "1")}, {container("a", "1")}),
            "container-0-request-1=1 container-2-request-1=1 s->container-0-request-1 "
            "a->container-2-request-1 i->container-2-request-1 ");
}

TEST(ExtendedResources, names_of_resources_that_classes_may_back) {
  EXPECT_TRUE(mayBeBackedByDevices("example.com/gpu"));
  EXPECT_TRUE(mayBeBackedByDevices("deviceclass.resource.kubernetes.io/gpu"));
  for (const char* name : {"cpu", "hugepages-2Mi", "kubernetes.io/batch-cpu",
                           "batch.kubernetes.io/x", "requests.example.com/gpu"})
    EXPECT_FALSE(mayBeBackedByDevices(name)) << name;
}

TEST(ExtendedResources, of_classes_for_one_resource_the_newest_counts) {
  const auto make = [](const std::string& name, int second) {
    auto out = std::make_shared<api::DeviceClass>();
    out->metadata.name = name;
    out->metadata.creationTimestamp = WallTime(std::chrono::seconds(second));
    out->spec.extendedResourceName = kGpu;
    return out;
  };
  ExtendedResourceClasses classes;
  for (const auto& [name, second] : {std::pair{"b", 2}, {"z", 3}, {"a", 3}, {"c", 1}})
    classes.add(make(name, second));
  EXPECT_EQ(classes.of(kGpu)->metadata.name, "a");
  EXPECT_EQ(classes.of("deviceclass.resource.kubernetes.io/c")->metadata.name, "c");
  EXPECT_EQ(classes.of("example.com/none"), nullptr);
}

}  // namespace
}  // namespace koord::scheduler
