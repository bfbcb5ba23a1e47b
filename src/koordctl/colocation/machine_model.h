#pragma once

// The machine model: how long threads of services wait on a node, and how much longer they run,
// because of other services and of batch jobs. A stated model, not a measurement: the study
// compares strategies under equal assumptions, and varies each assumption.
//
// A request of a service is `requestMs` of CPU time on one thread. Its delay has four parts.
//
//   Queue     The threads of services share the CPUs of the node: M/M/c. A thread waits with
//             Erlang's C(c, load), then for an exponential time of mean requestMs / (c - load).
//   Batch     A waking thread searches `wakeupSearch` CPUs for an idle one. The kernel does not
//             search all. With utilisation u it finds none with u^wakeupSearch, and then is on a
//             CPU of a batch thread with batch / (services + batch). Until it preempts that
//             thread it waits for an exponential time of mean `preemptMs` (BE pods, which have
//             the least weight) or `sliceMs` (pods of equal weight).
//             A CPU set (policy cpuset) limits batch to few CPUs at all times. A quota (policy
//             cfsQuota) lets all batch threads run on all CPUs and then stops them for the rest
//             of each 100 ms. So batch usage B of T threads is: for the part B / min(T, idle CPUs)
//             of the time min(T, idle CPUs) CPUs are busy with batch, and none in the rest.
//   Quota     A container with a CPU limit may use its quota in each 100 ms. The work that arrives
//             in that time is compound Poisson (exponential requests), nearly normal with variance
//             2 x demand x requestMs x 100 ms. If it exceeds the quota, requests wait for the next
//             periods: half of one on average, more if the demand itself exceeds the quota. Saved
//             quota (CPU burst) of n periods averages the work over 1 + n periods.
//   Cache     Batch work takes cache, memory bandwidth and core resources from its neighbours: a
//             request takes 1 + cacheShare x (CPUs busy with batch / CPUs) times its CPU time.
//             Services then use more CPU for the same work, too.
//
// The parts add up. The slowdown of a request is 1 + delay / requestMs; without other load it is 1.
// Cost: under 1 us a node and segment. Sources: Erlang 1917 for the queue; the others are the
// simplest forms that have the right limits (tests say which).

#include "base/random.h"
#include "koordctl/colocation/parameters.h"

namespace koord::koordctl::colocation {

// What runs on a node, in cores.
struct Contention {
  double cpus = 0;
  double services = 0;  // and the system
  double batch = 0;     // used
  double threads = 0;   // of batch, that want to run
  bool byQuota = false;
  bool equalWeight = false;  // batch has no lower weight than services
};

// The delays of requests on that node.
struct Delays {
  double inflation = 1;         // of the CPU time
  double queueProbability = 0;  // to wait for other services
  double queueMs = 0;           // mean, if it waits
  double batchProbability = 0;  // to wait for a batch thread
  double batchMs = 0;           // mean, if it waits
};

// The probability that a request finds all servers busy (M/M/c); 1 from full load on.
double erlangC(int servers, double load);

double inflationOf(const Parameters& parameters, double cpus, double batch);
Delays delaysOf(const Parameters& parameters, const Contention& contention);

// A container's quota: how many of its periods are throttled, and how long requests then wait.
struct Throttling {
  double share = 0;   // of the periods, 0 to 1
  double waitMs = 0;  // mean of requests in them
};
// demand, quota: in cores. savedPeriods: of unused quota that the kernel has saved.
Throttling throttlingOf(const Parameters& parameters, double demand, double quota,
                        double savedPeriods);

// The slowdown of one request at random.
double sampleSlowdown(const Parameters& parameters, const Delays& delays,
                      const Throttling& throttling, Random& random);

}  // namespace koord::koordctl::colocation
