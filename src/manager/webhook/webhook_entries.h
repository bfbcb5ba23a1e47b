#pragma once

// The entries of a webhook configuration as they should be: reachable at this server, trusted
// through its authority, and only those that the server handles.

#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "manager/webhook/webhook_settings.h"

namespace koord::manager {

// The path that an entry is called at, of its service or its URL; "" when it has none.
std::string pathOfEntry(const json::value& entry);

// "NAME, path PATH" of each entry that asks for what the server does not handle, apart from what is
// off by default.
std::vector<std::string> unservedEntries(const json::array& wanted,
                                         const std::set<std::string>& servedPaths);

json::array configuredEntries(const json::array& wanted, const std::set<std::string>& servedPaths,
                              const WebhookSettings& settings, std::string_view authorityPem);

}  // namespace koord::manager
