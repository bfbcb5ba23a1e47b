#pragma once

// Identities of accelerators and network cards: the texts by which a Device of koordlet and a
// ResourceSlice of a DRA driver name the same hardware of a node. These are the UUID of the vendor
// and the PCI address.
//
// A partition, such as a MIG device, carries the UUID or the PCI address of the hardware that it is
// a part of, so it has that identity, too.
//
// Attributes that name hardware: uuid and parentUUID (NVIDIA), pciBusID (standard of
// resource.kubernetes.io), pcieBusID (NVIDIA before 25.12), pciAddr (AMD), pciAddress. Drivers use
// different domains for them, so the domain does not count, nor do upper and lower case.

#include <string>
#include <string_view>

namespace koord::model {

// Returns true if the value of an attribute or label of this name is an identity. The name may have
// a domain.
bool namesHardware(std::string_view attribute);

// The canonical form of a UUID or PCI address, so that equal hardware has equal text: lower case,
// and PCI addresses as below /sys/bus/pci/devices ("0000:3b:00.0"; NVML writes "00000000:3B:00.0").
// "" if the text identifies nothing.
std::string deviceIdentity(std::string_view text);

}  // namespace koord::model
