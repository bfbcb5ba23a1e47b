#pragma once

// The tables of name_help.h, one for each section of the page.

#include "model/name_help.h"

namespace koord::model::names {

extern const std::span<const NameHelp> kPods;
extern const std::span<const NameHelp> kNodes;
extern const std::span<const NameHelp> kReservations;
extern const std::span<const NameHelp> kGangs;
extern const std::span<const NameHelp> kQuotas;
extern const std::span<const NameHelp> kMigration;
extern const std::span<const NameHelp> kDevices;
extern const std::span<const NameHelp> kResources;
extern const std::span<const NameHelp> kOthers;

}  // namespace koord::model::names
