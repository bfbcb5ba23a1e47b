#pragma once

// Discovery documents: API groups, versions and resources, in the classic and in the aggregated
// form.

#include <optional>
#include <string>
#include <string_view>

#include "apiserver/registry/registry.h"

namespace koord::apiserver {

// The document at /api, /apis, /api/v1, /apis/GROUP or /apis/GROUP/VERSION; nullopt for other paths
// and for groups and versions that are not served.
std::optional<std::string> discoveryDocument(const Registry& registry, std::string_view path);

// APIGroupDiscoveryList for "/api" or "/apis"; `version` is that of apidiscovery.k8s.io.
std::string aggregatedDiscovery(const Registry& registry, std::string_view path,
                                std::string_view version);

std::string versionDocument();

}  // namespace koord::apiserver
