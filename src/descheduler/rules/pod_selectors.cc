#include "descheduler/rules/pod_selectors.h"

#include <algorithm>

#include "descheduler/framework/prepare.h"

namespace koord::descheduler {

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
