#pragma once

// Applies colocation profiles to new reservations: labels and annotations to the reservation
// itself, scheduler and priority to the pods that its template describes. Profiles select by the
// reservation's labels; it has no namespace.

#include "api/schema/schema.h"
#include "manager/common/metrics.h"
#include "manager/webhook/admission.h"
#include "manager/webhook/profile_cache.h"

namespace koord::manager {

class ReservationWebhook {
 public:
  ReservationWebhook(ProfileCache& profiles, Executor& executor, Metrics& metrics, Random random);

  Task<Verdict> mutate(api::AdmissionRequest request);

 private:
  Task<Result<>> apply(json::value& reservation);

  ProfileCache& profiles_;
  Executor& executor_;
  Metrics& metrics_;
  Random random_;
  api::SchemaSet types_;
};

}  // namespace koord::manager
