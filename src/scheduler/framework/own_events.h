#pragma once

// What plugins register that go by labels and annotations of the pod itself.

#include "scheduler/framework/events.h"

namespace koord::scheduler {

// A pod that they turned away is tried again when it says something else. Its status, which attempts
// write, is left out.
EventRegistration onOwnMetadata();

}  // namespace koord::scheduler
