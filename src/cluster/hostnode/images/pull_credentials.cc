#include "cluster/hostnode/images/pull_credentials.h"

#include "base/base64.h"
#include "base/json.h"

namespace koord::cluster {

namespace {

constexpr std::string_view kDockerHub = "docker.io";

// "https://index.docker.io/v1/" and "docker.io" are one registry.
std::string placeOf(std::string_view entry) {
  for (const std::string_view scheme : {"https://", "http://"})
    if (entry.starts_with(scheme)) entry.remove_prefix(scheme.size());
  while (entry.ends_with('/')) entry.remove_suffix(1);
  for (const std::string_view version : {"/v1", "/v2"})
    if (entry.ends_with(version)) entry.remove_suffix(version.size());
  if (entry == "index.docker.io" || entry == "registry-1.docker.io") entry = kDockerHub;
  return std::string(entry);
}

// Returns true if the entry is for the image: its registry, or a path below it. After the name of a
// registry, a colon begins a port: there is another registry.
bool covers(const std::string& place, const std::string& image) {
  if (!image.starts_with(place) || image.size() <= place.size()) return false;
  const char next = image[place.size()];
  return next == '/' || (place.find('/') != std::string::npos && (next == ':' || next == '@'));
}

Result<ImageCredentials> credentialsOf(const json::value& entry) {
  ImageCredentials credentials{std::string(textAt(entry, "username")),
                               std::string(textAt(entry, "password"))};
  const auto encoded = textAt(entry, "auth");
  if (!credentials.user.empty() || encoded.empty()) return credentials;
  const auto both = base64Decode(encoded);
  const auto colon = both ? both->find(':') : std::string::npos;
  if (colon == std::string::npos)
    return fail(ErrorCode::Invalid, "auth is not USER:PASSWORD in base64");
  return ImageCredentials{both->substr(0, colon), both->substr(colon + 1)};
}

}  // namespace

std::string fullImageName(std::string_view image) {
  std::string name(image);
  const auto slash = name.find('/');
  const std::string first = name.substr(0, slash);
  const bool hasRegistry = slash != std::string::npos &&
                           (first.find_first_of(".:") != std::string::npos || first == "localhost");
  if (!hasRegistry)
    name = std::string(kDockerHub) + (slash == std::string::npos ? "/library/" : "/") + name;
  if (name.find('@') == std::string::npos && name.find(':', name.rfind('/')) == std::string::npos)
    name += ":latest";
  return name;
}

Result<std::optional<ImageCredentials>> credentialsIn(std::string_view dockerConfig,
                                                      const std::string& image) {
  auto document = parseJson(dockerConfig);
  if (!document) return fail(std::move(document.error()));
  const auto* auths = find(*document, "auths");
  if (!auths || !auths->is_object())
    return fail(ErrorCode::Invalid, "there is no object \"auths\"");
  const std::string name = fullImageName(image);
  const json::value* best = nullptr;
  std::size_t length = 0;
  for (const auto& member : auths->get_object()) {
    const std::string place = placeOf(member.key());
    if (!covers(place, name) || place.size() < length) continue;
    best = &member.value();
    length = place.size();
  }
  if (!best) return std::nullopt;
  auto credentials = credentialsOf(*best);
  if (!credentials) return fail(std::move(credentials.error()));
  return *std::move(credentials);
}

}  // namespace koord::cluster
