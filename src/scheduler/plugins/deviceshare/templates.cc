#include "scheduler/plugins/deviceshare/templates.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/object.hpp>

#include "base/yaml.h"

namespace koord::scheduler {

namespace {

// Amounts in YAML are numbers or texts.
Result<Quantity> amountOf(const json::value& value) {
  if (value.is_string()) return Quantity::parse(std::string(value.get_string()));
  if (value.is_number()) return Quantity::parse(toJson(value));
  return fail(ErrorCode::Invalid, "expected a quantity");
}

Result<GpuTemplate> templateOf(std::string name, const json::value& value) {
  if (!value.is_object()) return fail(ErrorCode::Invalid, "expected resource quantities");
  GpuTemplate read{std::move(name), {}};
  for (const auto& [key, amount] : value.get_object()) {
    auto quantity = amountOf(amount);
    if (!quantity) return fail(std::move(quantity.error()).within(std::string(key)));
    if (const auto resource = deviceResourceOf(key)) read.amounts.set(*resource, quantity->value());
  }
  return read;
}

}  // namespace

std::map<api::ObjectKey, std::unique_ptr<GpuTemplates>>& GpuTemplates::all(Handle& handle) {
  struct Sources {
    std::map<api::ObjectKey, std::unique_ptr<GpuTemplates>> byName;
  };
  return handle.shared().of<Sources>([] { return std::make_unique<Sources>(); }).byName;
}

GpuTemplates& GpuTemplates::of(Handle& handle, const api::ObjectKey& configMap) {
  auto& templates = all(handle)[configMap];
  if (!templates) templates = std::make_unique<GpuTemplates>();
  return *templates;
}

Result<> GpuTemplates::set(std::string_view yaml) {
  const auto document = parseYaml(yaml);
  if (!document) return fail(document.error());
  std::map<std::string, std::vector<GpuTemplate>> byModel;
  if (!document->is_null() && !document->is_object())
    return fail(ErrorCode::Invalid, "expected an object of templates by vendor and model");
  if (document->is_object()) {
    for (const auto& [model, templates] : document->get_object()) {
      const std::string key(model);
      if (templates.is_null()) continue;
      if (!templates.is_object())
        return fail(ErrorCode::Invalid, fmt::format("{}: expected an object of templates", key));
      for (const auto& [name, amounts] : templates.get_object()) {
        auto read = templateOf(std::string(name), amounts);
        if (!read)
          return fail(
              std::move(read.error()).within(fmt::format("{}.{}", key, std::string_view(name))));
        byModel[key].push_back(*std::move(read));
      }
      std::ranges::sort(byModel[key], {}, &GpuTemplate::name);
    }
  }
  byModel_ = std::move(byModel);
  ++version_;
  return {};
}

void GpuTemplates::clear() {
  byModel_.clear();
  ++version_;
}

bool GpuTemplates::anyOf(const DeviceAmounts& amounts) const {
  return std::ranges::any_of(byModel_, [&](const auto& entry) {
    return std::ranges::find(entry.second, amounts, &GpuTemplate::amounts) != entry.second.end();
  });
}

const std::vector<GpuTemplate>& GpuTemplates::of(const NodeGpus& node) const {
  static const std::vector<GpuTemplate> kNone;
  const auto it = byModel_.find(node.vendor + "-" + node.model);
  return it == byModel_.end() ? kNone : it->second;
}

}  // namespace koord::scheduler
