#pragma once

// The cluster IPs and node ports of services. They are unique as on any cluster: addresses of
// 10.96.0.0/12, ports from 30000 to 32767. changed() keeps them in step with the store. Those of a
// write in progress are taken, too, until its Hold is destroyed.

#include <map>
#include <string>
#include <vector>

#include "apiserver/objects/failure.h"
#include "base/random.h"

namespace koord::apiserver {

class ServiceAddresses {
 public:
  // Reserves the addresses and ports of a service that is not stored yet.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept : owner_(other.owner_), names_(std::move(other.names_)) {
      other.owner_ = nullptr;
    }
    Hold& operator=(Hold&&) = delete;
    ~Hold();

   private:
    friend class ServiceAddresses;
    ServiceAddresses* owner_ = nullptr;
    std::vector<std::string> names_;
  };

  // Call after the service of that key was stored or deleted (null).
  void changed(const std::string& key, const json::value* service);

  // Sets the missing addresses and ports. Those that the service names must be free or its own.
  Outcome<Hold> complete(json::value& service, const std::string& key, Random& random);

 private:
  class AddressAllocation;
  // By address, or by port as text.
  std::map<std::string, std::string, std::less<>> owners_;  // the service's key
  std::map<std::string, std::vector<std::string>> namesByService_;
  std::map<std::string, std::string, std::less<>> held_;
};

}  // namespace koord::apiserver
