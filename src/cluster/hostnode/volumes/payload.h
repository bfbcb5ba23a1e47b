#pragma once

// The files of configMap, secret, downwardAPI and projected volumes, from their objects.

#include <functional>
#include <vector>

#include "cluster/hostnode/podspec/environment.h"
#include "cluster/hostnode/volumes/atomic_files.h"

namespace koord::cluster {

// The objects that a volume needs.
ReferencedNames volumeReferences(const spec::Volume& volume);
std::vector<spec::TokenSource> tokensOf(const spec::Volume& volume);

struct PayloadContext {
  FieldContext fields;
  const ReferencedObjects& objects;
  // The token of such a source; nullopt: this cluster has none, and the file is left out.
  std::function<std::optional<std::string>(const spec::TokenSource&)> token;
};

// Fails, with kubelet's message, if a required reference is missing.
Result<Payload> payloadOf(const PayloadContext& context, const spec::Volume& volume);

// The group that owns a pod's volumes, and the user of all its containers; nullopt if there is
// none.
std::optional<std::uint32_t> fsGroupOf(const HostPod& pod);
std::optional<std::uint32_t> fsUserOf(const HostPod& pod);

}  // namespace koord::cluster
