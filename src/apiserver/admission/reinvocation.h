#pragma once

// Which webhooks, or policies, are called a second time for a request. All are called once, in
// order. If the object has changed by then, those with the reinvocation policy IfNeeded that were
// called before a change are called again, once. What was not called the first time is not called
// the second time either.

#include <set>
#include <string>

#include "base/json_equal.h"

namespace koord::apiserver {

class Reinvocation {
 public:
  // Begins a round with this object.
  void begin(bool second, const json::value& object) {
    second_ = second;
    if (second && !called_.empty() && !sameJson(object, last_)) onChange();
  }
  void end(const json::value& object) {
    if (!called_.empty()) last_ = object;
  }

  bool isSecond() const { return second_; }
  bool mayCall(const std::string& key) const { return !second_ || due_.contains(key); }
  // Everything reinvocable that was called so far is due in the next round.
  void onChange() {
    due_.merge(called_);
    called_.clear();
  }
  void onCalled(const std::string& key) { called_.insert(key); }  // with the policy IfNeeded

 private:
  bool second_ = false;
  std::set<std::string> called_, due_;
  json::value last_;  // the object at the end of the round, if something was called in it
};

}  // namespace koord::apiserver
