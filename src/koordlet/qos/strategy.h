#pragma once

// A strategy that the agent runs periodically, with a view of its state for operators.

#include "base/json.h"

namespace koord::koordlet {

class Strategy {
 public:
  virtual ~Strategy() = default;
  // Runs one round. A missing input affects that round only.
  virtual void run() = 0;
  // {"reason": "...", ...}
  virtual json::value view() const = 0;
};

}  // namespace koord::koordlet
