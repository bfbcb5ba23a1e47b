#pragma once

// The strategies of the NodeSLO sections: their defaults in the manager, and their bounds.

#include "api/slo.h"
#include "api/slo_strategies.h"
#include "base/result.h"

namespace koord::model {

template <class Strategy>
Strategy defaultStrategy();
template <>
api::ResourceThresholdStrategy defaultStrategy();
template <>
api::ResourceQOSStrategy defaultStrategy();
template <>
api::CPUBurstStrategy defaultStrategy();
template <>
api::SystemStrategy defaultStrategy();

// What koordlet uses for fields of the classes that a NodeSLO does not have. Nothing is enabled;
// the values hold for a feature of a class once it is. Those of systemClass are neutral: they have
// no effect.
api::ResourceQOSStrategy qosDefaultsOfNodes();

// The bounds that the NodeSLO CRD sets; the error names the field.
Result<> validate(const api::ResourceThresholdStrategy& strategy);
Result<> validate(const api::ResourceQOSStrategy& strategy);
Result<> validate(const api::CPUBurstStrategy& strategy);
Result<> validate(const api::SystemStrategy& strategy);

}  // namespace koord::model
