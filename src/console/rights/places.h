#pragma once

// How many questions of a kind run at once, in all and of one user. So one user can neither fill
// the memory of the process, which also has webhooks, nor keep others from asking.
//
// One executor. Must outlive its places.

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "console/rights/view.h"
#include "kube/request_guard.h"

namespace koord::console {

class Places {
 public:
  using Place = std::shared_ptr<const void>;  // free again when it is dropped

  Places(std::size_t inAll, std::size_t ofAUser) : inAll_(inAll), ofAUser_(ofAUser) {}

  // Null if there is none left. The owner of a console has one always.
  Place take(const Viewer& viewer) {
    const auto& caller = viewer.caller();
    const std::string user = caller ? caller->name() : std::string();
    if (caller && (taken_ >= inAll_ || of(user) >= ofAUser_)) return nullptr;
    ++taken_;
    ++users_[user];
    // The pointer only needs to differ from null.
    return Place(this, [this, user](const void*) {
      --taken_;
      if (--users_[user] == 0) users_.erase(user);
    });
  }

 private:
  std::size_t of(const std::string& user) const {
    const auto found = users_.find(user);
    return found == users_.end() ? 0 : found->second;
  }

  const std::size_t inAll_;
  const std::size_t ofAUser_;
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t> users_;  // by name
};

}  // namespace koord::console
