#pragma once

// Fields: the reader of plugin arguments and configurations, in the scheduler's namespace.

#include "base/fields.h"

namespace koord::scheduler {
using koord::Fields;
}  // namespace koord::scheduler
