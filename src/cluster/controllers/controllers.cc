#include "cluster/controllers/controllers.h"

#include "cluster/controllers/cron_job.h"
#include "cluster/controllers/daemon_set.h"
#include "cluster/controllers/deployment.h"
#include "cluster/controllers/devices/device_taint_eviction.h"
#include "cluster/controllers/devices/resource_claims.h"
#include "cluster/controllers/disruption.h"
#include "cluster/controllers/endpoints/endpoints_controller.h"
#include "cluster/controllers/garbage_collector.h"
#include "cluster/controllers/job.h"
#include "cluster/controllers/namespaces.h"
#include "cluster/controllers/node_lifecycle.h"
#include "cluster/controllers/pod_gc.h"
#include "cluster/controllers/replica_set.h"
#include "cluster/controllers/stateful_set.h"
#include "cluster/controllers/volumes/volumes.h"

namespace koord::cluster {

struct Controllers::Impl {
  Impl(kube::Api& api, Executor& executor, const apiserver::Registry& registry,
       kube::Informer<api::Pod>& pods, kube::Informer<api::Node>& nodes, Random random)
      : events(api, executor, "koordctl", random.fork()),
        deployments(api, executor, {}, random.fork()),
        replicaSets(api, executor, {}, random.fork()),
        statefulSets(api, executor, {}, random.fork()),
        daemonSets(api, executor, {}, random.fork()),
        revisions(api, executor, {}, random.fork()),
        jobs(api, executor, {}, random.fork()),
        cronJobs(api, executor, {}, random.fork()),
        budgets(api, executor, {}, random.fork()),
        namespaces(api, executor, {}, random.fork()),
        leases(api, executor, {"kube-node-lease", "", ""}, random.fork()),
        podInformer(pods),
        nodeInformer(nodes),
        volumes(api, executor, pods, nodes, random.fork()),
        podControl(api, executor, pods, events),
        deployment(api, executor, deployments, replicaSets, podControl, events),
        replicaSet(api, executor, replicaSets, podControl),
        statefulSet(api, executor, statefulSets, revisions, volumes.claims, podControl),
        daemonSet(api, executor, daemonSets, revisions, nodes, podControl, events),
        job(api, executor, jobs, podControl, events),
        cronJob(api, executor, cronJobs, jobs, events),
        disruption(api, executor, registry, budgets, pods, replicaSets, deployments, statefulSets,
                   events),
        namespaceController(api, executor, registry, namespaces),
        nodeLifecycle(api, executor, nodes, leases, pods, events),
        podCollector(api, executor, pods, nodes),
        collector(api, executor, registry, random.fork()),
        resourceClaims(api, executor, {}, random.fork()),
        claimTemplates(api, executor, {}, random.fork()),
        claimEvents(api, executor, "resource_claim", random.fork()),
        slices(api, executor, {}, random.fork()),
        taintRules(api, executor, {}, random.fork()),
        taintEvents(api, executor, "device-taint-eviction-controller", random.fork()),
        resourceClaim(api, executor, resourceClaims, claimTemplates, pods, claimEvents),
        deviceTaintEviction(api, executor, resourceClaims, slices, taintRules, pods, taintEvents),
        endpoints(api, executor, pods, random.fork()) {}

  // Runs fn when every informer has its first list.
  void whenSynced(std::function<void()> fn) {
    const auto waiting = std::make_shared<int>(1);
    const auto done = [waiting, fn = std::move(fn)] {
      if (--*waiting == 0) fn();
    };
    const auto wait = [&](auto& informer) {
      ++*waiting;
      informer.onSynced(done);
    };
    wait(deployments);
    wait(replicaSets);
    wait(statefulSets);
    wait(daemonSets);
    wait(revisions);
    wait(jobs);
    wait(cronJobs);
    wait(budgets);
    wait(namespaces);
    wait(leases);
    wait(resourceClaims);
    wait(claimTemplates);
    wait(slices);
    wait(taintRules);
    wait(volumes.claims);
    wait(volumes.volumes);
    wait(volumes.classes);
    wait(endpoints);
    wait(podInformer);
    wait(nodeInformer);
    done();
  }

  kube::EventRecorder events;
  kube::Informer<api::Deployment> deployments;
  kube::Informer<api::ReplicaSet> replicaSets;
  kube::Informer<api::StatefulSet> statefulSets;
  kube::Informer<api::DaemonSet> daemonSets;
  kube::Informer<api::ControllerRevision> revisions;
  kube::Informer<api::Job> jobs;
  kube::Informer<api::CronJob> cronJobs;
  kube::Informer<api::PodDisruptionBudget> budgets;
  kube::Informer<api::Namespace> namespaces;
  kube::Informer<api::Lease> leases;
  kube::Informer<api::Pod>& podInformer;
  kube::Informer<api::Node>& nodeInformer;
  Volumes volumes;
  PodControl podControl;
  DeploymentController deployment;
  ReplicaSetController replicaSet;
  StatefulSetController statefulSet;
  DaemonSetController daemonSet;
  JobController job;
  CronJobController cronJob;
  DisruptionController disruption;
  NamespaceController namespaceController;
  NodeLifecycleController nodeLifecycle;
  PodGarbageCollector podCollector;
  GarbageCollector collector;
  kube::Informer<api::ResourceClaim> resourceClaims;
  kube::Informer<api::ResourceClaimTemplate> claimTemplates;
  kube::EventRecorder claimEvents;
  kube::Informer<api::ResourceSlice> slices;
  kube::Informer<api::DeviceTaintRule> taintRules;
  kube::EventRecorder taintEvents;
  ResourceClaimController resourceClaim;
  DeviceTaintEviction deviceTaintEviction;
  EndpointsController endpoints;
};

Controllers::Controllers(kube::Api& api, Executor& executor, const apiserver::Registry& registry,
                         kube::Informer<api::Pod>& pods, kube::Informer<api::Node>& nodes,
                         Random random)
    : impl_(std::make_unique<Impl>(api, executor, registry, pods, nodes, random)) {}

Controllers::~Controllers() = default;

void Controllers::setVolumeHost(std::string node, std::string folder) {
  impl_->volumes.provisioner.setHost({std::move(node), std::move(folder)});
}

void Controllers::start() {
  Impl& all = *impl_;
  all.deployments.start();
  all.replicaSets.start();
  all.statefulSets.start();
  all.daemonSets.start();
  all.revisions.start();
  all.jobs.start();
  all.cronJobs.start();
  all.budgets.start();
  all.namespaces.start();
  all.leases.start();
  all.resourceClaims.start();
  all.claimTemplates.start();
  all.slices.start();
  all.taintRules.start();
  all.volumes.startInformers();
  all.endpoints.startInformers();
  all.collector.start();
  all.whenSynced([&all] {
    all.deployment.start();
    all.replicaSet.start();
    all.statefulSet.start();
    all.daemonSet.start();
    all.job.start();
    all.cronJob.start();
    all.disruption.start();
    all.namespaceController.start();
    all.nodeLifecycle.start();
    all.podCollector.start();
    all.resourceClaim.start();
    all.deviceTaintEviction.start();
    all.endpoints.start();
    all.volumes.start();
  });
}

}  // namespace koord::cluster
