#include "runtimeproxy/docker/docker_api.h"

#include <gmock/gmock.h>

namespace koord::runtimeproxy {
namespace {

std::string targetIn(std::string_view method, std::string_view path) {
  const auto target = dockerTargetOf(method, path);
  if (!target) return "";
  return std::string(nameOf(target->method)) + " " + target->id + target->name;
}

TEST(DockerApiTest, FiveRequestsAreLookedInto) {
  EXPECT_EQ(targetIn("POST", "/v1.39/containers/create?name=k8s_a_b_c_d_0"),
            "ContainerCreate k8s_a_b_c_d_0");
  EXPECT_EQ(targetIn("POST", "/containers/create"), "ContainerCreate ");
  EXPECT_EQ(targetIn("POST", "/v1.44/containers/abc/start"), "ContainerStart abc");
  EXPECT_EQ(targetIn("POST", "/containers/abc/stop?t=30"), "ContainerStop abc");
  EXPECT_EQ(targetIn("POST", "/v1.39/containers/abc/update"), "ContainerUpdate abc");
  EXPECT_EQ(targetIn("DELETE", "/v1.39/containers/abc?force=1"), "ContainerRemove abc");
  for (const char* path :
       {"/v1.39/containers/abc/json", "/v1.39/containers/json", "/v1.39/containers/abc/exec",
        "/v1.39/images/create", "/v1.39/networks/create", "/v1.39/exec/abc/start", "/v1.39",
        "/v1.39/containers/a/b/start", "/v.x/containers/a/start", "*", ""})
    EXPECT_EQ(targetIn("POST", path), "") << path;
  EXPECT_EQ(targetIn("GET", "/v1.39/containers/abc/start"), "");
}

TEST(DockerApiTest, NamesOfKubeletSayThePodAndOthersSayNothing) {
  const auto name = kubernetesNameOf("/k8s_main_web-1_default_5a-4b_3");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->container + " " + name->pod + " " + name->namespace_ + " " + name->uid,
            "main web-1 default 5a-4b");
  EXPECT_EQ(name->attempt, 3u);
  for (const char* other :
       {"", "/web", "k8s_main_web", "x_main_web_default_1_0", "k8s_a_b_c_d_0_e"})
    EXPECT_FALSE(kubernetesNameOf(other)) << other;
}

TEST(DockerApiTest, CgroupParentsAreWholePathsForHooksAndSlicesForDocker) {
  const char* const pod = "kubepods-besteffort-pod7712_aa.slice";
  const char* const path =
      "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod7712_aa.slice";
  EXPECT_EQ(hookCgroupParent(pod, true), path);
  EXPECT_EQ(dockerCgroupParent(path, true), pod);
  EXPECT_EQ(hookCgroupParent("kubepods-pod12.slice", true), "/kubepods.slice/kubepods-pod12.slice");
  EXPECT_EQ(hookCgroupParent("/kubepods/pod12", false), "/kubepods/pod12");
  EXPECT_EQ(dockerCgroupParent("/kubepods/pod12", false), "/kubepods/pod12");
  EXPECT_EQ(hookCgroupParent("", true), "");
}

TEST(DockerApiTest, OnlyWhatChangedIsWritten) {
  auto host =
      parseJson(R"({"CpuShares":2,"Binds":["/a:/b"],"NanoCpus":0,"CpusetCpus":"0-3"})").value();
  const auto before = dockerResources(host);
  EXPECT_EQ(before.cpu_shares(), 2);
  auto now = before;
  now.set_cpu_quota(200'000);
  now.set_cpuset_cpus("");
  writeResources(before, now, host.get_object());
  EXPECT_EQ(toJson(host),
            R"({"CpuShares":2,"Binds":["/a:/b"],"NanoCpus":0,"CpusetCpus":"","CpuQuota":200000})");
}

TEST(DockerApiTest, NumbersOfAnyKindAndNonsenseAreTaken) {
  const auto resources = dockerResources(
      parseJson(R"({"CpuShares":2e3,"Memory":"much","CpuQuota":-1,"CpusetCpus":7})").value());
  EXPECT_EQ(resources.cpu_shares(), 2000);
  EXPECT_EQ(resources.memory_limit_in_bytes(), 0);
  EXPECT_EQ(resources.cpu_quota(), -1);
  EXPECT_EQ(resources.cpuset_cpus(), "");
}

TEST(DockerApiTest, VariablesKeepTheirPlacesAndNewOnesComeAfterThem) {
  auto config =
      parseJson(R"({"Env":["B=1","REMOVED","A=2=3"],"Labels":{"annotation.x":"y","l":"m"}})")
          .value();
  auto container = dockerContainer({"main", "web", "default", "u", 1}, config, json::object());
  EXPECT_EQ(container.container_envs().at("A"), "2=3");
  EXPECT_EQ(container.container_annotations().at("x"), "y");
  EXPECT_FALSE(container.container_annotations().contains("l"));
  auto& variables = *container.mutable_container_envs();
  variables["Z"] = "9";
  variables["C"] = "8";
  variables.erase("B");
  writeEnvironment(variables, config.get_object());
  EXPECT_EQ(toJson(*find(config, "Env")), R"(["REMOVED","A=2=3","C=8","Z=9"])");
}

}  // namespace
}  // namespace koord::runtimeproxy
