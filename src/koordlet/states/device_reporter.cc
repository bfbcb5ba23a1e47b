#include "koordlet/states/device_reporter.h"

#include <algorithm>

#include "base/log.h"
#include "koordlet/states/informers.h"

namespace koord::koordlet {
namespace {

using namespace std::chrono_literals;

// A driver that does not answer for less time may be reloading.
constexpr Duration kDriverPatience = 1min;

json::object labelsOf(const DeviceReport& report) {
  json::object labels;
  for (const auto& [name, value] : report.labels)
    labels[name] = value ? json::value(*value) : json::value();
  return labels;
}

json::object annotationsOf(const DeviceReport& report) {
  json::object annotations;
  for (const auto& [name, document] : report.annotations) annotations[name] = toJson(document);
  return annotations;
}

json::value newDevice(const api::Node& node, const DeviceReport& report) {
  json::object labels;
  for (const auto& [name, value] : report.labels)
    if (value) labels[name] = *value;
  const json::object owner{{"apiVersion", "v1"},         {"kind", "Node"},
                           {"name", node.metadata.name}, {"uid", node.metadata.uid},
                           {"controller", true},         {"blockOwnerDeletion", true}};
  return json::object{{"apiVersion", api::apiVersionOf(api::Device::kType)},
                      {"kind", api::Device::kType.kind},
                      {"metadata",
                       {{"name", node.metadata.name},
                        {"labels", std::move(labels)},
                        {"annotations", annotationsOf(report)},
                        {"ownerReferences", json::array{owner}}}},
                      {"spec", {{"devices", devicesJson(report.devices)}}}};
}

}  // namespace

DeviceReporter::DeviceReporter(kube::Api& api, Executor& executor, const States& states,
                               Options options, Random random)
    : api_(api),
      executor_(executor),
      states_(states),
      options_(std::move(options)),
      informer_(api, executor, scopeOf(options_.nodeName), random) {}

void DeviceReporter::start() {
  if (options_.interval <= Duration::zero()) return;
  informer_.start();
  tasks_.spawn(loop());
}

void DeviceReporter::logProblems(const std::vector<std::string>& problems) {
  for (const auto& problem : problems)
    if (loggedProblems_.insert(problem).second) log::warn("device skipped: {}", problem);
  std::erase_if(loggedProblems_, [&](const std::string& one) {
    return std::ranges::find(problems, one) == problems.end();
  });
}

DeviceInventory DeviceReporter::take() {
  DeviceInventory inventory;
  if (!options_.xpuFolder.empty()) {
    inventory.xpus = readXpus(options_.xpuFolder, executor_.wallNow());
    logProblems(inventory.xpus.problems);
    if (!inventory.xpus.devices.empty()) xpusSeenAt_ = executor_.steadyNow();
  }
  inventory.reportsGpus = options_.gpus && !options_.xpuOnly;
  inventory.reportsRdma = options_.rdma;
  const GpuState& gpus = states_.gpus();
  inventory.gpus = gpus.reading;
  // The plugin that writes the files may be restarting, too.
  const auto silentSince = std::max(gpus.problemSince, xpusSeenAt_.value_or(gpus.problemSince));
  if (!gpus.problem.empty() && executor_.steadyNow() - silentSince >= kDriverPatience)
    inventory.driverProblem =
        xpusSeenAt_ ? "the files of the devices are not updated" : gpus.problem;
  if (inventory.reportsGpus && gpus.reading)
    for (const auto& gpu : gpus.reading->gpus)
      if (auto place = pciPlaceOf(options_.dirs, gpu.identity.busId))
        inventory.places[gpu.identity.busId] = *std::move(place);
  if (options_.rdma) inventory.rdmaCards = rdmaCards(options_.dirs);
  return inventory;
}

Task<void> DeviceReporter::report() {
  const auto node = states_.node();
  if (!node || !informer_.synced()) co_return;
  const api::ObjectKey key{"", options_.nodeName};
  const auto existing = informer_.get(key);
  const auto report = deviceReport(take(), existing.get(), executor_.wallNow());
  if (!report || (existing && equalsObject(*report, *existing))) co_return;
  if (!existing) {
    auto creating = kube::createObject(api_, api::Device::kType, key, newDevice(*node, *report));
    const auto created = co_await creating;
    if (!created)
      log::warn("Device {} not created: {}", options_.nodeName, created.error().message);
    co_return;
  }
  json::value patch = json::object{
      {"metadata", {{"labels", labelsOf(*report)}, {"annotations", annotationsOf(*report)}}},
      {"spec", {{"devices", devicesJson(report->devices)}}}};
  auto patching = kube::mergePatch(api_, api::Device::kType, key, std::move(patch));
  const auto patched = co_await patching;
  if (!patched) log::warn("Device {} not updated: {}", options_.nodeName, patched.error().message);
}

Task<void> DeviceReporter::loop() {
  for (;;) {
    auto reporting = report();
    co_await reporting;
    auto pause = sleepFor(executor_, options_.interval);
    co_await pause;
  }
}

}  // namespace koord::koordlet
