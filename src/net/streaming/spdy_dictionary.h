#pragma once

// The text with which both ends of SPDY/3 prime the compression of headers (section 2.6.10.1 of its
// draft).

#include <string>

namespace koord::net {

const std::string& spdyDictionary();

}  // namespace koord::net
