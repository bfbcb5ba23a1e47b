// DeviceShare's work on the leader other than scheduling: it follows the ConfigMaps with templates
// of shared GPUs, and reports invalid Devices.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kube/events.h"
#include "kube/informer.h"
#include "scheduler/plugins/deviceshare/plugin.h"

namespace koord::scheduler {

namespace {

using namespace std::chrono_literals;

// Keeps the templates equal to one ConfigMap.
class TemplateFollower {
 public:
  TemplateFollower(Handle& handle, const api::ObjectKey& name, GpuTemplates& templates)
      : handle_(handle),
        templates_(templates),
        informer_(*handle.api(), handle.executor(),
                  {name.namespace_, "", "metadata.name=" + name.name}, handle.random()) {
    informer_.addHandler({[this](const auto& map) { read(*map); },
                          [this](const auto&, const auto& map) { read(*map); },
                          [this](const auto&) {
                            templates_.clear();
                            tell();
                          }});
    informer_.start();
  }

 private:
  void read(const api::ConfigMap& map) {
    const auto data = map.data.find("data.yaml");
    const Result<> done = templates_.set(data == map.data.end() ? std::string_view()
                                                                : std::string_view(data->second));
    if (done) return tell();
    log::warn("ConfigMap {}: data[data.yaml]: {}; the previous templates stay in force",
              api::keyOf(map.metadata).toString(), done.error().message);
    if (!handle_.events()) return;
    handle_.events()->record(kube::referenceTo(api::ConfigMap::kType, map.metadata), "Warning",
                             "InvalidTemplates",
                             fmt::format("data[data.yaml]: {}", done.error().message));
  }
  void tell() {
    ClusterEvent event;
    event.resource = EventResource::Custom;
    event.customResource = kTemplatesChanged;
    event.actions = action::kUpdate;
    handle_.notify(event);
  }

  Handle& handle_;
  GpuTemplates& templates_;
  kube::Informer<api::ConfigMap> informer_;
};

// Reports the problems of every Device, once.
class ProblemReporter {
 public:
  ProblemReporter(Handle& handle, DeviceTable& table) : handle_(handle), table_(table) {
    table_.onDevice([this](const DeviceInventory& inventory) { tell(inventory); });
    handle_.cluster().live().forEach([&](NodeId node) {
      const DeviceInventory& inventory = table_.rowOf(node).inventory;
      if (inventory.device()) tell(inventory);
    });
  }
  ~ProblemReporter() { table_.onDevice({}); }
  ProblemReporter(const ProblemReporter&) = delete;
  ProblemReporter& operator=(const ProblemReporter&) = delete;

 private:
  void tell(const DeviceInventory& inventory) {
    const api::Device& device = *inventory.device();
    std::string text = fmt::format("{}", fmt::join(inventory.problems(), "; "));
    std::string& reported = reported_[device.metadata.name];
    if (text == reported) return;
    reported = text;
    if (text.empty()) return;
    log::warn("Device {}: {}", device.metadata.name, text);
    if (handle_.events())
      handle_.events()->record(kube::referenceTo(api::Device::kType, device.metadata), "Warning",
                               "InvalidDevice", text);
  }

  Handle& handle_;
  DeviceTable& table_;
  std::map<std::string, std::string> reported_;  // by Device
};

}  // namespace

Task<void> DeviceShare::run() {
  const ProblemReporter teller(handle_, table_);
  std::vector<std::unique_ptr<TemplateFollower>> followers;
  if (handle_.api()) {
    for (const auto& [name, templates] : GpuTemplates::all(handle_))
      followers.push_back(std::make_unique<TemplateFollower>(handle_, name, *templates));
  }
  for (;;) {
    auto pause = sleepFor(handle_.executor(), 24h);
    co_await pause;
  }
}

}  // namespace koord::scheduler
