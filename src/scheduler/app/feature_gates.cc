#include "scheduler/app/feature_gates.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <sstream>

#include "base/log.h"

namespace koord::scheduler {

namespace {

// The gates of Kubernetes 1.36 and those of koord-scheduler, by stage and default.
struct Group {
  std::string_view stage;
  bool enabled;
  const char* names;
};
constexpr Group kGroups[] = {
    {"", true,
    "APIServerTracing AllowServiceExternalIPs AnonymousAuthConfigurableEndpoints "
    "AnyVolumeDataSource AuthorizeNodeWithSelectors AuthorizeWithSelectors BtreeWatchCache "
    "CPUManagerPolicyOptions CRDValidationRatcheting CSIServiceAccountTokenSecrets "
    "ConsistentListFromCache CustomCPUCFSQuotaPeriod CustomResourceFieldSelectors DRAAdminAccess "
    "DRAPrioritizedList DeclarativeValidation DisableAllocatorDualWrite DynamicResourceAllocation "
    "ExecProbeTimeout ExternalServiceAccountTokenSigner ImageMaximumGCAge ImageVolume "
    "InOrderInformers InPlacePodVerticalScaling InformerResourceVersion JobBackoffLimitPerIndex "
    "JobManagedBy JobPodReplacementPolicy JobSuccessPolicy KubeletCgroupDriverFromCRI "
    "KubeletFineGrainedAuthz KubeletPSI KubeletPodResourcesDynamicResources "
    "KubeletPodResourcesGet KubeletTracing LogarithmicScaleDown MatchLabelKeysInPodAffinity "
    "MultiCIDRServiceAllocator MutableCSINodeAllocatableCount MutatingAdmissionPolicy "
    "NFTablesProxyMode NodeInclusionPolicyInPodTopologySpread NodeLogQuery NodeSwap "
    "OrderedNamespaceDeletion PodLifecycleSleepAction PodLifecycleSleepActionAllowZero "
    "PodObservedGenerationTracking PodSchedulingReadiness PreferSameTrafficDistribution "
    "ProcMountType RecoverVolumeExpansionFailure RecursiveReadOnlyMounts "
    "RelaxedDNSSearchValidation RelaxedEnvironmentVariableValidation "
    "ResilientWatchCacheInitialization RetryGenerateName SELinuxChangePolicy "
    "SELinuxMountReadWriteOncePod SchedulerQueueingHints SeparateTaintEvictionController "
    "ServiceAccountTokenJTI ServiceAccountTokenNodeBinding "
    "ServiceAccountTokenNodeBindingValidation ServiceAccountTokenPodNodeInfo SidecarContainers "
    "StreamingCollectionEncodingToJSON StreamingCollectionEncodingToProtobuf "
    "StructuredAuthenticationConfiguration SupplementalGroupsPolicy SystemdWatchdog "
    "TopologyManagerPolicyOptions UserNamespacesSupport VolumeAttributesClass WinDSR WinOverlay "},
    {"BETA", true,
    "APIResponseCompression APIServerIdentity AllowParsingUserUIDFromCertAuth AtomicFIFO "
    "AuthorizePodWebsocketUpgradeCreatePermission CPUManagerPolicyBetaOptions "
    "CRDObservedGenerationTracking ClearingNominatedNodeNameAfterBinding ClientsAllowCARotation "
    "ClientsAllowTLSCacheGC ComponentFlagz ComponentStatusz ConstrainedImpersonation "
    "ContainerCheckpoint ContainerRestartRules ContextualLogging DRAConsumableCapacity "
    "DRADeviceBindingConditions DRADeviceTaints DRAExtendedResource DRAPartitionableDevices "
    "DRAResourceClaimDeviceStatus DRAResourceClaimGranularStatusAuthorization "
    "DRASchedulerFilterTimeout DeclarativeValidationBeta DeploymentReplicaSetTerminatingReplicas "
    "DetectCacheInconsistency EnvFiles ExtendWebSocketsToKubelet GracefulNodeShutdown "
    "GracefulNodeShutdownBasedOnPodPriority HPAConfigurableTolerance HostnameOverride "
    "InOrderInformersBatchProcess InPlacePodLevelResourcesVerticalScaling "
    "InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax "
    "KubeletEnsureSecretPulledImages KubeletSeparateDiskGC "
    "KubeletServiceAccountTokenForCredentialProviders ListFromCacheSnapshot LoggingBetaOptions "
    "MatchLabelKeysInPodTopologySpread MatchLabelKeysInPodTopologySpreadSelectorMerge "
    "MutablePodResourcesForSuspendedJobs MutableSchedulingDirectivesForSuspendedJobs "
    "NodeDeclaredFeatures NominatedNodeNameForExpectation OpenAPIEnums OpportunisticBatching "
    "PLEGOnDemandRelist PodDeletionCost PodLevelResources PodReadyToStartContainersCondition "
    "PodTopologyLabelsAdmission PortForwardWebsockets PreventStaticPodAPIReferences "
    "RelaxedServiceNameValidation ReloadKubeletClientCAFile ReloadKubeletServerCertificateFile "
    "RemoteRequestHeaderUID ResourceHealthStatus ResourceHealthStatusMessage "
    "RestartAllContainersOnContainerExits RotateKubeletServerCertificate SchedulerAsyncPreemption "
    "SchedulerPopFromBackoffQ ServiceAccountNodeAudienceRestriction SizeBasedListCostEstimate "
    "StaleControllerConsistencyDaemonSet StaleControllerConsistencyJob "
    "StaleControllerConsistencyReplicaSet StaleControllerConsistencyStatefulSet "
    "StatefulSetSemanticRevisionComparison StorageVersionHash StrictIPCIDRValidation "
    "StructuredAuthenticationConfigurationEgressSelector "
    "StructuredAuthenticationConfigurationJWKSMetrics TokenRequestServiceAccountUIDValidation "
    "TopologyManagerPolicyBetaOptions TranslateStreamCloseWebsocketRequests "
    "UnauthenticatedHTTP2DOSMitigation UnknownVersionInteroperabilityProxy "
    "UnlockWhileProcessingFIFO WatchCacheInitializationPostStartHook WatchList WatchListClient "
    "WindowsGracefulNodeShutdown "},
    {"BETA", false,
    "AllBeta ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode "
    "CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring "
    "MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls "
    "StorageVersionMigrator "},
    {"ALPHA", false,
    "APIServingWithRoutine AllAlpha AllowUnsafeMalformedObjectDeletion CBORServingAndStorage "
    "CPUManagerPolicyAlphaOptions CRIListStreaming CSIStorageCapacity CSIVolumeHealth "
    "CleanExpiredReservationAllocated ClientsAllowCBOR ClientsPreferCBOR "
    "CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook "
    "CompatibleCSIStorageCapacity CompatiblePodDisruptionBudget ContainerStopSignals "
    "CrossNamespaceVolumeDataSource CrossSchedulerNomination DRAListTypeAttributes "
    "DRANodeAllocatableResources DRAResourcePoolStatus DRAWorkloadResourceClaims "
    "DevicePluginAdaption DisableCSIStorageCapacityInformer DisableDefaultQuota "
    "DisableDynamicResourceAllocationInformer DisablePodDisruptionBudgetInformer "
    "DynamicSchedulerCheck ElasticQuotaGuaranteeUsage ElasticQuotaIgnorePodOverhead "
    "ElasticQuotaIgnoreTerminatingPod ElasticQuotaImmediateIgnoreTerminatingPod "
    "EnableBatchScheduleNodeSnapshot EnableInlineBatchSchedule EventedPLEG "
    "GangPendingPodsConditionPatch GangScheduling GenericEphemeralVolume GenericWorkload "
    "HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs "
    "InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace LazyReservationRestore "
    "LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS MinimumKubeletVersion "
    "MultiQuotaTree MutablePVNodeAffinity NativeHistograms OmitNodeLabelsForReservation "
    "PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI PodDisruptionBudget "
    "PodLevelResourceManagers PodLogsQuerySplitStreams PodsAPI PreemptionPolicyTransformer "
    "PriorityTransformer QOSReserved ReduceDefaultCrashLoopBackOffDecay "
    "ReplaceResourcesTransformer ResizePod RouteExternalCertificate RuntimeClassInImageCriApi "
    "ShardedListAndWatch SkipFilterWithNominatedPods SkipReservationFitsNode "
    "StorageCapacityScoring StoragePerformantSecurityPolicy StorageVersionAPI "
    "SupportParentQuotaSubmitPod SyncBarrier TaintTolerationComparisonOperators "
    "TopologyAwareWorkloadScheduling TopologyManagerPolicyAlphaOptions "
    "UserNamespacesHostNetworkSupport VolumeLimitScaling WindowsCPUAndMemoryAffinity "
    "WorkloadAwarePreemption WorkloadWithJob "},
    {"DEPRECATED", true,
    "AggregatedDiscoveryRemoveBetaType DisableCPUQuotaWithExclusiveCPUs "
    "DisableNodeKubeProxyVersion KubeletPodResourcesListUseActivePods "
    "ServiceCIDRStatusFieldWiping StorageNamespaceIndex "},
    {"DEPRECATED", false,
    "AllowDNSOnlyNodeCSR AllowInsecureKubeletCertificateSigningRequests "
    "AllowOverwriteTerminationGracePeriodSeconds ChangeContainerStatusOnKubeletRestart "
    "DeclarativeValidationTakeover GitRepoVolumeDriver KMSv1 KubeletRegistrationGetOnExistsOnly "
    "SeparateCacheWatchRPC WindowsHostNetwork "},
};

const std::map<std::string, net::Feature, std::less<>>& knownGates() {
  static const auto kGates = [] {
    std::map<std::string, net::Feature, std::less<>> gates;
    for (const Group& group : kGroups) {
      std::istringstream names(group.names);
      for (std::string name; names >> name;)
        gates.emplace(name, net::Feature{name, std::string(group.stage), group.enabled});
    }
    return gates;
  }();
  return kGates;
}

auto refused(std::string_view message) {
  return fail(ErrorCode::Invalid, fmt::format("--feature-gates: {}", message));
}

// strconv.ParseBool
std::optional<bool> boolOf(std::string_view text) {
  for (const std::string_view yes : {"1", "t", "T", "TRUE", "true", "True"})
    if (text == yes) return true;
  for (const std::string_view no : {"0", "f", "F", "FALSE", "false", "False"})
    if (text == no) return false;
  return std::nullopt;
}

}  // namespace

Result<std::vector<net::Feature>> readFeatureGates(const std::string& text) {
  auto gates = knownGates();
  std::istringstream items(text);
  for (std::string item; std::getline(items, item, ',');) {
    if (item.empty()) continue;
    if (const auto colon = item.find(':'); colon != std::string::npos) {
      const std::string component = item.substr(0, colon);
      if (component != "kube") return refused("component not registered: " + component);
      item.erase(0, colon + 1);
    }
    const auto equals = item.find('=');
    if (equals == std::string::npos) return refused("missing bool value for " + item);
    const auto value = boolOf(std::string_view(item).substr(equals + 1));
    if (!value) return refused(fmt::format("invalid value of {}", item));
    const auto gate = gates.find(item.substr(0, equals));
    if (gate == gates.end()) return refused("unrecognized feature gate: " + item.substr(0, equals));
    if (gate->second.enabled != *value)
      log::warn("--feature-gates: {} changes nothing in this program", item);
    gate->second.enabled = *value;
  }
  std::vector<net::Feature> features;
  for (auto& [name, feature] : gates) features.push_back(std::move(feature));
  return features;
}

}  // namespace koord::scheduler
