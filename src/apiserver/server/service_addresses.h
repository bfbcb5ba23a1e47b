#pragma once

// Which cluster IPs and node ports the services have. Nothing routes to them here, but they are
// unique as on any cluster: addresses of 10.96.0.0/12, ports of 30000 to 32767. Kept in step with
// the store by changed(); what a write under way was given is taken, too, until its Hold goes.

#include <map>
#include <string>
#include <vector>

#include "apiserver/objects/failure.h"
#include "base/random.h"

namespace koord::apiserver {

class ServiceAddresses {
 public:
  // What was given to a service that is not stored yet.
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

  // The service of that key is stored so; null when it is gone.
  void changed(const std::string& key, const json::value* service);

  // Fills in what the service needs and lacks. What it names itself must be free, or its own.
  Outcome<Hold> complete(json::value& service, const std::string& key, Random& random);

 private:
  class Giving;
  // By what is taken: an address, or a port as text.
  std::map<std::string, std::string, std::less<>> owners_;  // the service's key
  std::map<std::string, std::vector<std::string>> ofService_;
  std::map<std::string, std::string, std::less<>> held_;
};

}  // namespace koord::apiserver
