#include "manager/webhook/reservation_webhook.h"

#include "api/codec.h"
#include "api/reservation.h"
#include "api/schema/builtin.h"
#include "base/log.h"
#include "manager/webhook/json_diff.h"

namespace koord::manager {

namespace {

// The types for merging: only the template has lists that are merged.
constexpr std::string_view kReservationTypes =
    "Reservation: metadata ObjectMeta; spec ReservationSpec\n"
    "ReservationSpec: template PodTemplateSpec\n";

api::SchemaSet reservationTypes() {
  api::SchemaSet types = api::builtinTypes();
  if (auto added = api::addTypes(types, kReservationTypes); !added)
    log::error("types of reservations: {}", added.error().message);
  return types;
}

}  // namespace

ReservationWebhook::ReservationWebhook(ProfileCache& profiles, Executor& executor, Metrics& metrics,
                                       Random random)
    : profiles_(profiles),
      executor_(executor),
      metrics_(metrics),
      random_(random),
      types_(reservationTypes()) {}

Task<Result<>> ReservationWebhook::apply(json::value& reservation) {
  auto waiting = profiles_.waitUntilSynced();
  if (Result<> ready = co_await waiting; !ready) co_return ready;
  const auto decoded = api::decode<api::Reservation>(reservation);
  if (!decoded) co_return fail(decoded.error());
  std::vector<std::string> broken;
  const auto matching =
      matchProfilesByLabels(profiles_.profiles(), decoded->metadata.labels, &broken);
  for (const auto& problem : broken)
    log::warn("ClusterColocationProfile {} matches nothing", problem);
  if (matching.empty()) co_return Result<>();
  auto looking = profiles_.priorityClasses(matching);
  const auto classes = co_await looking;
  if (!classes) co_return fail(classes.error());
  const ProfileContext context{lookupIn(*classes), *types_.find("Reservation"), random_,
                               ProfileTarget::Reservation};
  const auto applied = applyProfiles(matching, context, reservation);
  if (!applied) co_return fail(applied.error());
  co_return Result<>();
}

Task<Verdict> ReservationWebhook::mutate(api::AdmissionRequest request) {
  if (request.resource.resource != api::Reservation::kType.plural || !request.subResource.empty() ||
      request.operation != "CREATE")
    co_return allow();
  const SteadyTime began = executor_.steadyNow();
  json::value reservation = request.object;
  if (!reservation.is_object()) co_return refuse(400, "request.object: is not a Reservation");
  auto applying = apply(reservation);
  const Result<> applied = co_await applying;
  metrics_.webhookRan("mutate", "Reservation", request.operation, "ClusterColocationProfile",
                      applied.has_value(), executor_.steadyNow() - began);
  if (!applied)
    co_return refuse(applied.error().code == ErrorCode::BadRequest ? 400 : 500,
                     applied.error().message);
  Verdict verdict = allow();
  verdict.patch = createJsonPatch(request.object, reservation);
  co_return verdict;
}

}  // namespace koord::manager
