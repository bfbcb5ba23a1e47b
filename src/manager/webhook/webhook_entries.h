#pragma once

// The desired entries of a webhook configuration: with this server's address and authority, and
// only those that the server handles.

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "manager/webhook/webhook_settings.h"

namespace koord::manager {

// The path that an entry is called at, of its service or its URL; "" if it has none.
std::string pathOfEntry(const json::value& entry);

// "NAME, path PATH" of each entry whose path the server does not handle, except webhooks that are
// off by default.
std::vector<std::string> unservedEntries(const json::array& wanted,
                                         const std::set<std::string>& servedPaths);

json::array configuredEntries(const json::array& wanted, const std::set<std::string>& servedPaths,
                              const WebhookSettings& settings, std::string_view authorityPem);

}  // namespace koord::manager
