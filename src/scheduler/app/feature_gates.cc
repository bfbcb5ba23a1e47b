#include "scheduler/app/feature_gates.h"

#include <set>
#include <sstream>

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
    {"", true, "CSIStorageCapacity GenericEphemeralVolume PodDisruptionBudget "},
    {"BETA", true, "EnableBatchScheduleNodeSnapshot GangPendingPodsConditionPatch "},
    {"ALPHA", true, "DynamicSchedulerCheck "},
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
     "ClusterTrustBundle ClusterTrustBundleProjection ConcurrentWatchObjectDecode "
     "CoordinatedLeaderElection DRADeviceTaintRules LocalStorageCapacityIsolationFSQuotaMonitoring "
     "MaxUnavailableStatefulSet PodCertificateRequest SELinuxMount SchedulerAsyncAPICalls "
     "StorageVersionMigrator "},
    {"ALPHA", false,
     "APIServingWithRoutine AllowUnsafeMalformedObjectDeletion CBORServingAndStorage "
     "CPUManagerPolicyAlphaOptions CRIListStreaming CSIVolumeHealth "
     "CleanExpiredReservationAllocated ClientsAllowCBOR ClientsPreferCBOR "
     "CloudControllerManagerWatchBasedRoutesReconciliation CloudControllerManagerWebhook "
     "CompatibleCSIStorageCapacity CompatiblePodDisruptionBudget ContainerStopSignals "
     "CrossNamespaceVolumeDataSource CrossSchedulerNomination DRAListTypeAttributes "
     "DRANodeAllocatableResources DRAResourcePoolStatus DRAWorkloadResourceClaims "
     "DevicePluginAdaption DisableCSIStorageCapacityInformer DisableDefaultQuota "
     "DisableDynamicResourceAllocationInformer DisablePodDisruptionBudgetInformer "
     "ElasticQuotaGuaranteeUsage ElasticQuotaIgnorePodOverhead "
     "ElasticQuotaIgnoreTerminatingPod ElasticQuotaImmediateIgnoreTerminatingPod "
     "EnableInlineBatchSchedule EventedPLEG "
     "GangScheduling GenericWorkload "
     "HPAScaleToZero ImageVolumeWithDigest InPlacePodVerticalScalingExclusiveCPUs "
     "InPlacePodVerticalScalingExclusiveMemory KubeletInUserNamespace LazyReservationRestore "
     "LoggingAlphaOptions ManifestBasedAdmissionControlConfig MemoryQoS MinimumKubeletVersion "
     "MultiQuotaTree MutablePVNodeAffinity NativeHistograms OmitNodeLabelsForReservation "
     "PersistentVolumeClaimUnusedSinceTime PodAndContainerStatsFromCRI "
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

// The gates that have an effect.
bool isPresent(std::string_view gate) {
  static const std::set<std::string_view> kPresent{"CleanExpiredReservationAllocated",
                                                   "CrossSchedulerNomination",
                                                   "DRAAdminAccess",
                                                   "DRAConsumableCapacity",
                                                   "DRADeviceBindingConditions",
                                                   "DRADeviceTaintRules",
                                                   "DRADeviceTaints",
                                                   "DRAExtendedResource",
                                                   "DRAListTypeAttributes",
                                                   "DRAPartitionableDevices",
                                                   "DRAPrioritizedList",
                                                   "DRAResourceClaimDeviceStatus",
                                                   "DRASchedulerFilterTimeout",
                                                   "DevicePluginAdaption",
                                                   "DisableDefaultQuota",
                                                   "DisableDynamicResourceAllocationInformer",
                                                   "DynamicResourceAllocation",
                                                   "DynamicSchedulerCheck",
                                                   "ElasticQuotaGuaranteeUsage",
                                                   "ElasticQuotaIgnorePodOverhead",
                                                   "ElasticQuotaIgnoreTerminatingPod",
                                                   "ElasticQuotaImmediateIgnoreTerminatingPod",
                                                   "MultiQuotaTree",
                                                   "NodeDeclaredFeatures",
                                                   "OmitNodeLabelsForReservation",
                                                   "PreemptionPolicyTransformer",
                                                   "PriorityTransformer",
                                                   "ReplaceResourcesTransformer",
                                                   "ResizePod",
                                                   "SyncBarrier"};
  return kPresent.contains(gate);
}

}  // namespace

flags::FeatureGates featureGates() {
  std::vector<flags::FeatureGate> gates;
  for (const Group& group : kGroups) {
    std::istringstream names(group.names);
    for (std::string name; names >> name;)
      gates.push_back({name, std::string(group.stage), group.enabled, isPresent(name)});
  }
  return flags::FeatureGates(std::move(gates));
}

std::vector<net::Feature> featuresOf(const flags::FeatureGates& gates) {
  std::vector<net::Feature> features;
  for (const auto& [name, gate] : gates.known())
    features.push_back({name, gate.stage, gates.requested(name)});
  return features;
}

}  // namespace koord::scheduler
