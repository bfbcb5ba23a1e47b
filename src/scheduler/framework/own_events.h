#pragma once

// The event registration of plugins whose answer depends on the pod's own labels and annotations.

#include "scheduler/framework/events.h"

namespace koord::scheduler {

// Wakes a rejected pod when its metadata changes. Changes of its status, which attempts write, do
// not count.
EventRegistration onOwnMetadata();

}  // namespace koord::scheduler
