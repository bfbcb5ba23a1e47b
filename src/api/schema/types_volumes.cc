#include "api/schema/builtin.h"

namespace koord::api::tables {

// Volumes of pods and, where their secrets can be in another namespace, those of PersistentVolumes.
const char* const kVolumes = R"(
GCEPersistentDiskVolumeSource: *pdName#1 string; fsType#2 string; partition#3 int; readOnly#4 bool
AWSElasticBlockStoreVolumeSource: *volumeID#1 string; fsType#2 string; partition#3 int
  readOnly#4 bool
AzureDiskVolumeSource: *diskName#1 string; *diskURI#2 string; cachingMode#3? string
  fsType#4? string; readOnly#5? bool; kind#6? string
AzureFileVolumeSource: *secretName#1 string; *shareName#2 string; readOnly#3 bool
AzureFilePersistentVolumeSource: *secretName#1 string; *shareName#2 string; readOnly#3 bool
  secretNamespace#4? string
CephFSVolumeSource: *monitors#1 [string]; path#2 string; user#3 string; secretFile#4 string
  secretRef#5? LocalObjectReference; readOnly#6 bool
CephFSPersistentVolumeSource: *monitors#1 [string]; path#2 string; user#3 string
  secretFile#4 string; secretRef#5? SecretReference; readOnly#6 bool
CinderVolumeSource: *volumeID#1 string; fsType#2 string; readOnly#3 bool
  secretRef#4? LocalObjectReference
CinderPersistentVolumeSource: *volumeID#1 string; fsType#2 string; readOnly#3 bool
  secretRef#4? SecretReference
FlexVolumeSource: *driver#1 string; fsType#2 string; secretRef#3? LocalObjectReference
  readOnly#4 bool; options#5 {string}
FlexPersistentVolumeSource: *driver#1 string; fsType#2 string; secretRef#3? SecretReference
  readOnly#4 bool; options#5 {string}
FlockerVolumeSource: datasetName#1 string; datasetUUID#2 string
GitRepoVolumeSource: *repository#1 string; revision#2 string; directory#3 string
GlusterfsVolumeSource: *endpoints#1 string; *path#2 string; readOnly#3 bool
GlusterfsPersistentVolumeSource: *endpoints#1 string; *path#2 string; readOnly#3 bool
  endpointsNamespace#4? string
ISCSIVolumeSource: *targetPortal#1 string; *iqn#2 string; lun#3 int kept; iscsiInterface#4 string
  fsType#5 string; readOnly#6 bool; portals#7 [string]; chapAuthDiscovery#8 bool
  chapAuthSession#11 bool; secretRef#10? LocalObjectReference; initiatorName#12? string
ISCSIPersistentVolumeSource: *targetPortal#1 string; *iqn#2 string; lun#3 int kept
  iscsiInterface#4 string; fsType#5 string; readOnly#6 bool; portals#7 [string]
  chapAuthDiscovery#8 bool; chapAuthSession#11 bool; secretRef#10? SecretReference
  initiatorName#12? string
FCVolumeSource: targetWWNs#1 [string]; lun#2? int; fsType#3 string; readOnly#4 bool
  wwids#5 [string]
PhotonPersistentDiskVolumeSource: *pdID#1 string; fsType#2 string
PortworxVolumeSource: *volumeID#1 string; fsType#2 string; readOnly#3 bool
QuobyteVolumeSource: *registry#1 string; *volume#2 string; readOnly#3 bool; user#4 string
  group#5 string; tenant#6 string
RBDVolumeSource: *monitors#1 [string]; *image#2 string; fsType#3 string; pool#4 string
  user#5 string; keyring#6 string; secretRef#7? LocalObjectReference; readOnly#8 bool
RBDPersistentVolumeSource: *monitors#1 [string]; *image#2 string; fsType#3 string; pool#4 string
  user#5 string; keyring#6 string; secretRef#7? SecretReference; readOnly#8 bool
ScaleIOVolumeSource: *gateway#1 string; *system#2 string; *secretRef#3? LocalObjectReference
  sslEnabled#4 bool; protectionDomain#5 string; storagePool#6 string; storageMode#7 string
  volumeName#8 string; fsType#9 string; readOnly#10 bool
ScaleIOPersistentVolumeSource: *gateway#1 string; *system#2 string; *secretRef#3? SecretReference
  sslEnabled#4 bool; protectionDomain#5 string; storagePool#6 string; storageMode#7 string
  volumeName#8 string; fsType#9 string; readOnly#10 bool
StorageOSVolumeSource: volumeName#1 string; volumeNamespace#2 string; fsType#3 string
  readOnly#4 bool; secretRef#5? LocalObjectReference
StorageOSPersistentVolumeSource: volumeName#1 string; volumeNamespace#2 string; fsType#3 string
  readOnly#4 bool; secretRef#5? ObjectReference
VsphereVirtualDiskVolumeSource: *volumePath#1 string; fsType#2 string; storagePolicyName#3 string
  storagePolicyID#4 string
PodCertificateProjection: signerName#1 string; keyType#2 string; maxExpirationSeconds#3? int
  credentialBundlePath#4 string; keyPath#5 string; certificateChainPath#6 string
  userAnnotations#7 {string}; user#8? int
)";

}  // namespace koord::api::tables
