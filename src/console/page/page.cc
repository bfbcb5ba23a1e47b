#include "console/page/page.h"

#include <fmt/format.h>

#include <functional>
#include <string>

#include "console/page/files.h"

namespace koord::console {

namespace {

struct File {
  std::string_view path;
  std::string_view type;
  std::string_view compressed;  // by gzip
};

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

File fileOf(std::string_view path) {
  if (path == "/app.js") return {path, "text/javascript; charset=utf-8", kAppJs};
  if (path == "/app.css") return {path, "text/css; charset=utf-8", kAppCss};
  if (path == "/icon.svg") return {path, "image/svg+xml", kIconSvg};
  return {"/", "text/html; charset=utf-8", kIndexHtml};
}

bool takesGzip(const net::Headers& headers) {
  return net::headerOf(headers, "Accept-Encoding").contains("gzip");
}

}  // namespace

void servePage(const net::RoutedRequest& request, net::Responder& responder) {
  const File file = fileOf(request.target.path);
  if (!takesGzip(request.request.headers))
    return net::sendText(responder, 406,
                         "the page is compressed: the header Accept-Encoding must allow gzip\n");
  // Equal files have equal tags; a browser asks again each time and mostly receives 304.
  const std::string tag =
      fmt::format("\"{:016x}\"", std::hash<std::string_view>{}(file.compressed));
  net::Headers headers = {{"ETag", tag},
                          {"Cache-Control", "no-cache"},
                          {"Content-Security-Policy", std::string(kPolicy)},
                          {"X-Content-Type-Options", "nosniff"},
                          {"Referrer-Policy", "no-referrer"},
                          {"Cross-Origin-Opener-Policy", "same-origin"},
                          {"Cross-Origin-Resource-Policy", "same-origin"}};
  if (net::headerOf(request.request.headers, "If-None-Match") == tag)
    return responder.respond(304, std::move(headers), std::string());
  headers.push_back({"Content-Type", std::string(file.type)});
  headers.push_back({"Content-Encoding", "gzip"});
  responder.respond(200, std::move(headers), std::string(file.compressed));
}

}  // namespace koord::console
