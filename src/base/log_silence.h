#pragma once

namespace koord::log {

// Ends all output of this process. Takes no lock: for the child of a fork.
void silence();

}  // namespace koord::log
