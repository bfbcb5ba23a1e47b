#pragma once

// Reservations (plugins/reservation): resources on nodes that are reserved for future owners.
// Invariants: a reservation is placed once; only its owners use it, on its node; only one owner
// uses it if it says so; Restricted limits what owners use; when all is quiet, its status has the
// owners and their use, and expired reservations have ended.

#include "simulation/feature.h"
#include "simulation/features/plain_reservations.h"

namespace koord::simulation {

class ReservationsFeature final : public Feature {
 public:
  ReservationsFeature(const Surroundings& world, Random random);
  void join(scheduler::Registry&) override {}
  std::vector<std::string> plugins() const override { return {"Reservation"}; }
  void configure(scheduler::ProfileConfig& profile) const override;
  void begin() override;
  void start() override;
  void shape(scheduler::testing::PodBuilder& pod) override;
  void act() override;
  void tick() override;
  void addRules(scheduler::Handle& handle, const std::string& without, Model& model) override;
  void told(const api::Pod& pod) override;
  void bound(const api::Pod& pod, const Choice& choice) override;
  void addUsed(const api::Pod& pod, const Choice& choice,
               std::map<std::string, std::int64_t>& used) override;
  std::vector<PodObject> units() const override;
  SteadyTime rulesChanged(const std::string& /*node*/) const override { return rulesChanged_; }
  std::string differences(scheduler::Handle& handle, const Model& model) override;

 private:
  using Object = std::shared_ptr<const api::Reservation>;

  void changed(const Object& before, const Object& after);
  void createOne();
  void changeOne(const api::Reservation& reservation);
  std::vector<Object> sorted() const;
  // The pods of the store that use it on its node.
  std::vector<PodObject> ownersOf(const api::Reservation& reservation) const;

  kube::Informer<api::Reservation> reservations_;
  std::map<std::string, Object> ever_;           // by uid, as last seen
  SteadyTime rulesChanged_ = SteadyTime::min();  // when a reservation was opened or closed
  int last_ = 0;
};

}  // namespace koord::simulation
