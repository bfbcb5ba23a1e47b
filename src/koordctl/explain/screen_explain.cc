#include "koordctl/explain/screen_explain.h"

#include <fmt/format.h>

#include "api/device.h"
#include "api/topology.h"
#include "koordctl/common/kubeconfig_choice.h"
#include "kube/client.h"
#include "kube/http_api.h"
#include "net/http_client.h"

namespace koord::koordctl {

namespace {

std::string amountsText(const api::ResourceList& list) {
  std::string text;
  for (const auto& [name, amount] : list)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, amount.toString());
  return text;
}

std::string zonesText(const api::NodeResourceTopology& topology) {
  std::string text = topology.zones.empty() ? "" : "\nNUMA zones\n";
  for (const auto& zone : topology.zones) {
    text += "  " + zone.name;
    for (const auto& resource : zone.resources)
      text += fmt::format("{} {} {} of {} free", &resource == &zone.resources.front() ? ":" : ",",
                          resource.name, resource.available.toString(),
                          resource.allocatable.toString());
    text += "\n";
  }
  return text;
}

std::string devicesText(const api::Device& device) {
  std::string text = device.spec.devices.empty() ? "" : "\nDevices\n";
  for (const auto& one : device.spec.devices)
    text += fmt::format("  {} {}{}{}: {}\n", one.type, one.minor.value_or(0),
                        one.topology ? fmt::format(" on NUMA node {}", one.topology->nodeID) : "",
                        one.health ? "" : ", broken", amountsText(one.resources));
  return text;
}

// From the API server, for clusters whose koord-scheduler is not reached.
Task<std::string> hardwareOf(cluster::Question question) {
  auto config = loadChoice(chooseKubeconfig(question.kubeconfig));
  if (!config) co_return std::string();
  net::HttpClient http({.userAgent = "koordctl"});
  kube::HttpApi api(http, *question.executor, *std::move(config));
  const api::ObjectKey key{"", question.subject.name};
  auto readingZones = kube::get<api::NodeResourceTopology>(api, key);
  auto topology = co_await readingZones;
  auto readingDevices = kube::get<api::Device>(api, key);
  auto device = co_await readingDevices;
  co_return (topology ? zonesText(*topology) : std::string()) +
      (device ? devicesText(*device) : std::string());
}

}  // namespace

Task<Result<std::string>> explainAbout(cluster::Question question, ExplainOptions::About about,
                                       std::string name) {
  ExplainOptions options;
  options.about = about;
  options.name = std::move(name);
  options.kubeconfig = question.kubeconfig;
  options.dataDir = question.dataDir;
  options.scheduler = question.scheduler;
  options.manager = question.manager;
  auto asking = explanationOf(std::move(options), question.executor);
  auto text = co_await asking;
  co_return text;
}

Task<Result<std::string>> explainOnScreen(cluster::Question question) {
  using Kind = cluster::Subject::Kind;
  const auto& subject = question.subject;
  if (subject.kind == Kind::Event) co_return std::string();
  const auto about = subject.kind == Kind::Node   ? ExplainOptions::About::Node
                     : subject.kind == Kind::Move ? ExplainOptions::About::Migration
                     : subject.kind == Kind::Pod  ? ExplainOptions::About::Pod
                                                  : ExplainOptions::About::Quota;
  std::string name =
      subject.kind == Kind::Pod ? subject.namespace_ + "/" + subject.name : subject.name;
  auto asking = explainAbout(question, about, std::move(name));
  auto text = co_await asking;
  if (text || subject.kind != Kind::Node) co_return text;
  auto askingHardware = hardwareOf(question);
  const std::string hardware = co_await askingHardware;
  co_return text.error().message + "\n" + hardware;
}

}  // namespace koord::koordctl
