#include "apiserver/authz/bootstrap_roles.h"

namespace koord::apiserver {

const std::string_view kBootstrapRoles = R"(
cluster-admin
 * | * | *
 * | *
admin <admin
edit +admin <edit
view +edit <view
system:aggregate-to-admin +admin
 create | authorization.k8s.io | localsubjectaccessreviews
 all | rbac.authorization.k8s.io | rolebindings roles
system:aggregate-to-edit +edit
 read | core | pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy
 impersonate | core | serviceaccounts
 write | core | pods pods/attach pods/exec pods/portforward pods/proxy
 create | core | pods/eviction
 write | core | configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets serviceaccounts services services/proxy
 create | core | serviceaccounts/token
 write | apps | daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets statefulsets/scale
 write | autoscaling | horizontalpodautoscalers
 write | batch | cronjobs jobs
 write | extensions | daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale
 write | policy | poddisruptionbudgets
 write | networking.k8s.io | ingresses networkpolicies
 all | coordination.k8s.io | leases
 write | resource.k8s.io | resourceclaims resourceclaimtemplates
system:aggregate-to-view +view
 read | core | configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers replicationcontrollers/scale serviceaccounts services services/status
 read | core | bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status resourcequotas resourcequotas/status
 read | core | namespaces
 read | discovery.k8s.io | endpointslices
 read | apps | controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status
 read | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status
 read | batch | cronjobs cronjobs/status jobs jobs/status
 read | extensions | daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale
 read | policy | poddisruptionbudgets poddisruptionbudgets/status
 read | networking.k8s.io | ingresses ingresses/status networkpolicies
 read | resource.k8s.io | resourceclaims resourceclaims/status resourceclaimtemplates
system:auth-delegator
 create | authentication.k8s.io | tokenreviews
 create | authorization.k8s.io | subjectaccessreviews
system:basic-user
 create | authorization.k8s.io | selfsubjectaccessreviews selfsubjectrulesreviews
 create | authentication.k8s.io | selfsubjectreviews
system:discovery
 get | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz /version /version/
system:public-info-viewer
 get | /healthz /livez /readyz /version /version/
system:monitoring
 get | /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*
system:service-account-issuer-discovery
 get | /.well-known/openid-configuration /openid/v1/jwks
system:heapster
 read | core | events namespaces nodes pods
 read | extensions | deployments
system:kube-aggregator
 read | core | endpoints services
system:kube-dns
 list watch | core | endpoints services
system:kube-controller-manager
 create patch update | core events.k8s.io | events
 create | coordination.k8s.io | leases
 get update | coordination.k8s.io | leases | kube-controller-manager
 create | core | secrets serviceaccounts
 delete | core | secrets
 get | core | configmaps namespaces secrets serviceaccounts
 update | core | secrets serviceaccounts
 create | authentication.k8s.io | tokenreviews
 create | authorization.k8s.io | subjectaccessreviews
 list watch | * | *
 create | core | serviceaccounts/token
system:kube-scheduler
 create patch update | core events.k8s.io | events
 create | coordination.k8s.io | leases
 get update | coordination.k8s.io | leases | kube-scheduler
 read | core | nodes
 delete get list watch | core | pods
 create | core | bindings pods/binding
 patch update | core | pods/status
 read | core | replicationcontrollers services
 read | apps extensions | replicasets
 read | apps | statefulsets
 read | policy | poddisruptionbudgets
 read | core | persistentvolumeclaims persistentvolumes
 create | authentication.k8s.io | tokenreviews
 create | authorization.k8s.io | subjectaccessreviews
 read | storage.k8s.io | csinodes
 read | core | namespaces
 read | storage.k8s.io | csidrivers
 read | storage.k8s.io | csistoragecapacities
 read | storage.k8s.io | volumeattachments
 read | resource.k8s.io | deviceclasses
 get list patch update watch | resource.k8s.io | resourceclaims
 get list patch update watch | resource.k8s.io | resourceclaims/status
 update | core | pods/finalizers
 read | resource.k8s.io | resourceslices
 create delete | resource.k8s.io | resourceclaims
 read | resource.k8s.io | devicetaintrules
 patch update | resource.k8s.io | resourceclaims/binding
system:volume-scheduler
 get list patch update watch | core | persistentvolumes
 read | storage.k8s.io | storageclasses
 get list patch update watch | core | persistentvolumeclaims
system:kubelet-api-admin
 read | core | nodes
 proxy | core | nodes
 * | core | nodes/configz nodes/healthz nodes/log nodes/metrics nodes/pods nodes/proxy nodes/stats
system:node
 create | authentication.k8s.io | tokenreviews
 create | authorization.k8s.io | localsubjectaccessreviews subjectaccessreviews
 read | core | services
 create get list watch | core | nodes
 patch update | core | nodes/status
 patch update | core | nodes
 create patch update | core | events
 read | core | pods
 create delete | core | pods
 patch update | core | pods/status
 create | core | pods/eviction
 read | core | configmaps secrets
 get | core | persistentvolumeclaims persistentvolumes
 get | core | endpoints
 create get list watch | certificates.k8s.io | certificatesigningrequests
 create delete get patch update | coordination.k8s.io | leases
 get | storage.k8s.io | volumeattachments
 create | core | serviceaccounts/token
 get patch update | core | persistentvolumeclaims/status
 read | storage.k8s.io | csidrivers
 create delete get patch update | storage.k8s.io | csinodes
 read | node.k8s.io | runtimeclasses
 get | resource.k8s.io | resourceclaims
 deletecollection | resource.k8s.io | resourceslices
system:node-bootstrapper
 create get list watch | certificates.k8s.io | certificatesigningrequests
system:node-problem-detector
 get | core | nodes
 patch | core | nodes/status
 create patch update | core events.k8s.io | events
system:node-proxier
 list watch | core | endpoints services
 read | core | nodes
 create patch update | core events.k8s.io | events
 list watch | discovery.k8s.io | endpointslices
system:persistent-volume-provisioner
 create delete get list watch | core | persistentvolumes
 get list update watch | core | persistentvolumeclaims
 read | storage.k8s.io | storageclasses
 watch | core | events
 create patch update | core events.k8s.io | events
extension-apiserver-authentication-reader @kube-system
 read | core | configmaps | extension-apiserver-authentication
system::leader-locking-kube-controller-manager @kube-system
 create get list update watch | coordination.k8s.io | leases
system::leader-locking-kube-scheduler @kube-system
 create get list update watch | coordination.k8s.io | leases
)";

const std::string_view kControllerRoles = R"(
system:controller:clusterrole-aggregation-controller
 escalate get list patch update watch | rbac.authorization.k8s.io | clusterroles
system:controller:cronjob-controller
 get list update watch | batch | cronjobs
 create delete get list patch update watch | batch | jobs
 update | batch | cronjobs/status
 update | batch | cronjobs/finalizers
 delete list watch | core | pods
 create patch update | core events.k8s.io | events
system:controller:daemon-set-controller
 read | apps extensions | daemonsets
 update | apps extensions | daemonsets/status
 update | apps extensions | daemonsets/finalizers
 list watch | core | nodes
 create delete list patch watch | core | pods
 create | core | pods/binding
 create delete get list patch update watch | apps | controllerrevisions
 create patch update | core events.k8s.io | events
system:controller:deployment-controller
 get list update watch | apps extensions | deployments
 update | apps extensions | deployments/status
 update | apps extensions | deployments/finalizers
 create delete get list patch update watch | apps extensions | replicasets
 get list update watch | core | pods
 create patch update | core events.k8s.io | events
system:controller:device-taint-eviction-controller
 delete get list watch | core | pods
 patch update | core | pods/status
 read | resource.k8s.io | resourceclaims
 read | resource.k8s.io | resourceslices
 read | resource.k8s.io | deviceclasses
 create patch update | core events.k8s.io | events
 patch update | resource.k8s.io | devicetaintrules/status
 read | resource.k8s.io | devicetaintrules
system:controller:disruption-controller
 read | apps extensions | deployments
 read | apps extensions | replicasets
 read | core | replicationcontrollers
 read | policy | poddisruptionbudgets
 read | apps | statefulsets
 update | policy | poddisruptionbudgets/status
 patch update | core | pods/status
 get | * | */scale
 create patch update | core events.k8s.io | events
system:controller:endpoint-controller
 read | core | pods services
 create delete get list update watch | core | endpoints
 create | core | endpoints/restricted
 create patch update | core events.k8s.io | events
system:controller:endpointslice-controller
 read | core | nodes pods services
 update | core | services/finalizers
 create delete get list update watch | discovery.k8s.io | endpointslices
 create patch update | core events.k8s.io | events
system:controller:ephemeral-volume-controller
 read | core | pods
 update | core | pods/finalizers
 create get list watch | core | persistentvolumeclaims
 create patch update | core events.k8s.io | events
system:controller:generic-garbage-collector
 delete get list patch update watch | * | *
 create patch update | core events.k8s.io | events
system:controller:horizontal-pod-autoscaler
 read | autoscaling | horizontalpodautoscalers
 update | autoscaling | horizontalpodautoscalers/status
 get update | * | */scale
 list watch | core | pods
 list watch | metrics.k8s.io | pods
 read | custom.metrics.k8s.io | *
 read | external.metrics.k8s.io | *
 create patch update | core events.k8s.io | events
system:controller:job-controller
 get list patch update watch | batch | jobs
 update | batch | jobs/status
 update | batch | jobs/finalizers
 create delete list patch watch | core | pods
 create patch update | core events.k8s.io | events
system:controller:namespace-controller
 delete get list watch | core | namespaces
 update | core | namespaces/finalize namespaces/status
 delete deletecollection get list watch | * | *
system:controller:node-controller
 delete get list patch update watch | core | nodes
 patch update | core | nodes/status
 patch update | core | pods/status
 delete list watch | core | pods
 create patch update | core events.k8s.io | events
 get | core | pods
system:controller:persistent-volume-binder
 create delete get list update watch | core | persistentvolumes
 update | core | persistentvolumes/status
 get list update watch | core | persistentvolumeclaims
 update | core | persistentvolumeclaims/status
 create delete get list watch | core | pods
 read | storage.k8s.io | storageclasses
 create delete get update | core | endpoints services
 get list | core | secrets
 read | core | nodes
 watch | core | events
 create patch update | core events.k8s.io | events
system:controller:pod-garbage-collector
 delete list watch | core | pods
 get list | core | nodes
 patch update | core | pods/status
system:controller:pv-protection-controller
 get list update watch | core | persistentvolumes
 create patch update | core events.k8s.io | events
system:controller:pvc-protection-controller
 get list update watch | core | persistentvolumeclaims
 read | core | pods
 create patch update | core events.k8s.io | events
system:controller:replicaset-controller
 get list update watch | apps extensions | replicasets
 update | apps extensions | replicasets/status
 update | apps extensions | replicasets/finalizers
 create delete list patch watch | core | pods
 create patch update | core events.k8s.io | events
system:controller:replication-controller
 get list update watch | core | replicationcontrollers
 update | core | replicationcontrollers/status
 update | core | replicationcontrollers/finalizers
 create delete list patch watch | core | pods
 create patch update | core events.k8s.io | events
system:controller:resource-claim-controller
 read | core | pods
 update | core | pods/finalizers
 create delete get list watch | resource.k8s.io | resourceclaims
 patch update | resource.k8s.io | resourceclaims resourceclaims/status
 patch update | core | pods/status
 create patch update | core events.k8s.io | events
 patch update | resource.k8s.io | resourceclaims/binding
system:controller:resourcequota-controller
 list watch | * | *
 update | core | resourcequotas/status
 create patch update | core events.k8s.io | events
system:controller:root-ca-cert-publisher
 create update | core | configmaps
 create patch update | core events.k8s.io | events
system:controller:service-account-controller
 create | core | serviceaccounts
 create patch update | core events.k8s.io | events
system:controller:statefulset-controller
 list watch | core | pods
 read | apps | statefulsets
 update | apps | statefulsets/status
 update | apps | statefulsets/finalizers
 create delete get patch update | core | pods
 create delete get list patch update watch | apps | controllerrevisions
 create get | core | persistentvolumeclaims
 create patch update | core events.k8s.io | events
 delete update | core | persistentvolumeclaims
system:controller:ttl-after-finished-controller
 delete get list watch | batch | jobs
 create patch update | core events.k8s.io | events
)";

const std::string_view kBootstrapBindings = R"(
cluster-admin Group:system:masters
system:monitoring Group:system:monitoring
system:discovery Group:system:authenticated
system:basic-user Group:system:authenticated
system:public-info-viewer Group:system:authenticated Group:system:unauthenticated
system:node
system:node-proxier User:system:kube-proxy
system:kube-controller-manager User:system:kube-controller-manager
system:kube-dns ServiceAccount:kube-system:kube-dns
system:kube-scheduler User:system:kube-scheduler
system:volume-scheduler User:system:kube-scheduler
system:service-account-issuer-discovery Group:system:serviceaccounts
extension-apiserver-authentication-reader=system::extension-apiserver-authentication-reader @kube-system User:system:kube-controller-manager User:system:kube-scheduler
system::leader-locking-kube-controller-manager @kube-system User:system:kube-controller-manager ServiceAccount:kube-system:kube-controller-manager
system::leader-locking-kube-scheduler @kube-system User:system:kube-scheduler ServiceAccount:kube-system:kube-scheduler
)";

}  // namespace koord::apiserver
