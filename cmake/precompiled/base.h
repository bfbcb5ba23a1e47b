#pragma once

// Headers that nearly every file includes, parsed once; CMakeLists.txt here says who gets which set. A file still
// includes what it uses: builds without KOORD_PCH have to work.

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/value.hpp>
#include <chrono>
#include <coroutine>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <variant>
#include <vector>
