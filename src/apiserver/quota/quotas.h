#pragma once

// ResourceQuota, enforced and accounted by the server itself. Every object of a namespace with
// quotas is charged when it is stored and refunded when it is deleted, in the same turn as the
// write. So two writers cannot use the same remainder, and nothing is charged twice. The ledger is
// in memory and is rebuilt from the stored objects at start; status.used of the quotas follows it.
//
// The server needs no quota controller, and "status unknown for quota" never happens.

#include <map>
#include <memory>
#include <set>
#include <string>

#include "apiserver/objects/failure.h"
#include "apiserver/quota/usage.h"
#include "apiserver/registry/registry.h"
#include "apiserver/store/store.h"

namespace koord::apiserver {

class Quotas {
 public:
  Quotas(Executor& executor, Store& store, const Registry& registry)
      : executor_(executor), store_(store), registry_(registry) {}

  // Reads all quotas of the store. Call at start, before any other function.
  void load();

  // Checks that the object, in stored form, fits; otherwise returns 403 with upstream's message.
  // The caller stores it in the same turn of the executor.
  Outcome<> admit(const json::value& object, const Resource& stored) const;
  // Call after an object was stored or deleted (null).
  void changed(const Resource& stored, const std::string& key, const json::value* now);
  // Call after a table was removed with all of its objects.
  void tableRemoved(const std::string& table);

 private:
  struct Quota {
    QuotaRules rules;
    api::ResourceList used;
    std::map<std::string, api::ResourceList> charges;  // by table and key
  };
  using Name = std::pair<std::string, std::string>;  // namespace, name

  void reload(const Name& name, const json::value& object);
  void charge(const Name& name, Quota& quota, const Resource& stored, const std::string& key,
              const json::value* object);
  void setCharge(const Name& name, Quota& quota, const std::string& item,
                 api::ResourceList amounts);
  api::ResourceList usageOf(const json::value& object, const Resource& stored) const;
  void classChanged();
  void podOfClaimsChanged(const std::string& key, const json::value* pod);
  void touch(const Name& name);
  void flush();
  void recheckAt(WallTime when, const Resource& stored, const std::string& key);

  Executor& executor_;
  Store& store_;
  const Registry& registry_;
  std::map<std::string, std::map<std::string, Quota>, std::less<>> byNamespace_;
  std::set<Name> dirty_;  // quotas whose status must be written
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace koord::apiserver
