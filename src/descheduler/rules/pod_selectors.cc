#include "descheduler/rules/pod_selectors.h"

#include <algorithm>

#include "descheduler/framework/prepare.h"

namespace koord::descheduler {

namespace {

// The label keys that a pod must have.
std::uint32_t requiredKeys(const api::Selector& selector) {
  using Op = api::Selector::Op;
  std::uint32_t keys = 0;
  for (const auto& requirement : selector.requirements())
    if (requirement.op == Op::In || requirement.op == Op::Equals ||
        requirement.op == Op::DoubleEquals || requirement.op == Op::Exists)
      keys |= labelKeyBit(requirement.key);
  return keys;
}

}  // namespace

bool PodSelectors::matches(const NodePods::Entry& entry) const {
  return any.empty() || std::ranges::any_of(any, [&](const auto& one) {
           const std::uint32_t keys = requiredKeys(one);
           return (entry.facts.labelKeys & keys) == keys && one.matches(entry.pod->metadata.labels);
         });
}

bool PodSelectors::matches(const api::StringMap& labels) const {
  return any.empty() ||
         std::ranges::any_of(any, [&](const auto& one) { return one.matches(labels); });
}

PodSelectors PodSelectors::read(Fields& args) {
  PodSelectors out;
  if (const json::value* document = args.raw("podSelectors")) out.document = *document;
  for (Fields& item : args.list("podSelectors")) {
    item.text("name");
    if (const auto selector = readArgsSelector(item, "selector")) {
      out.any.push_back(*selector);
    } else {
      item.error("selector", "Required value");
    }
    item.refuseUnknown();
  }
  return out;
}

std::optional<api::Selector> readArgsSelector(Fields& args, std::string_view field) {
  const json::value* document = args.raw(field);
  if (!document) return std::nullopt;
  return readSelector(*document, args.pathOf(field), args.errors());
}

}  // namespace koord::descheduler
