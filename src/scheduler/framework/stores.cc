#include "scheduler/framework/stores.h"

namespace koord::scheduler {

AnyStore* Stores::find(std::type_index type) const {
  const auto found = byType_.find(type);
  return found == byType_.end() ? nullptr : found->second.get();
}

AnyStore& Stores::add(std::type_index type, std::unique_ptr<AnyStore> store) {
  order_.push_back(store.get());
  return *(byType_[type] = std::move(store));
}

NamespaceLabels namespaceLabelsOf(Stores& stores) {
  return [&namespaces =
              stores.of<api::Namespace>()](const std::string& name) -> const api::StringMap* {
    const auto namespace_ = namespaces.get({"", name});
    return namespace_ ? &namespace_->metadata.labels : nullptr;
  };
}

}  // namespace koord::scheduler
