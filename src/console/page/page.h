#pragma once

// The page of the console, as it was built from the folder web/: compressed, with an ETag and a
// Content-Security-Policy that allows neither inline scripts nor other servers. A build without
// node has a page instead that says how to build it.

#include <memory>
#include <string_view>

#include "net/router.h"

namespace koord::console {

// Answers GET and HEAD of every path that is not one of the page's files with the page itself,
// because addresses such as /nodes/a name its views.
void servePage(const net::RoutedRequest& request, net::Responder& responder);

}  // namespace koord::console
