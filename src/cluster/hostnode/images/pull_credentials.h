#pragma once

// Who pulls an image: the registry that its name leads to, and the credentials for it in a Secret
// of type kubernetes.io/dockerconfigjson.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "cluster/hostnode/runtime.h"

namespace koord::cluster {

// "nginx" is "docker.io/library/nginx:latest", as in Docker. A name with a digest keeps it.
std::string fullImageName(std::string_view image);

// The credentials for an image in the text of a .dockerconfigjson; nullopt if it has none for the
// registry, or none for the image's path there. Of several entries the longest one counts.
Result<std::optional<ImageCredentials>> credentialsIn(std::string_view dockerConfig,
                                                      const std::string& image);

}  // namespace koord::cluster
