#pragma once

#include "base/fields.h"

namespace koord::scheduler {
using koord::Fields;
}  // namespace koord::scheduler
