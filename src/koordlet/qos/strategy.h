#pragma once

// What the agent runs again and again: one round of a strategy, and what it does now, for people.

#include "base/json.h"

namespace koord::koordlet {

class Strategy {
 public:
  virtual ~Strategy() = default;
  // One round. Whatever is missing costs that round and nothing else.
  virtual void run() = 0;
  // {"reason": "...", ...}
  virtual json::value view() const = 0;
};

}  // namespace koord::koordlet
