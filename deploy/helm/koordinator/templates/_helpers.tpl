{{/* A shipped file, for the namespace of this installation. */}}
{{- define "koordinator.file" -}}
{{- .root.Files.Get (printf "manifests/%s" .file) | replace "koordinator-system" .root.Values.installation.namespace -}}
{{- end -}}

{{/* The profile. Values of a release that was made before there was one have none: helm upgrade --reuse-values. */}}
{{- define "koordinator.profile" -}}
{{- $profile := default "upstream" .Values.profile -}}
{{- if not (has $profile (list "upstream" "recommended")) -}}
{{- fail (printf "profile: %q is neither upstream nor recommended" $profile) -}}
{{- end -}}
{{- $profile -}}
{{- end -}}

{{/* The same of the profile: "recommended" has files of its own beside those that it leaves as they are. */}}
{{- define "koordinator.profiled" -}}
{{- $path := printf "manifests/%s" .file -}}
{{- if eq (include "koordinator.profile" .root) "recommended" -}}{{- $path = printf "recommended/%s" .file -}}{{- end -}}
{{- .root.Files.Get $path | replace "koordinator-system" .root.Values.installation.namespace -}}
{{- end -}}

{{/* What the profile adds to the arguments of a program: the values of a patch of deploy/recommended. */}}
{{- define "koordinator.profileArgs" -}}
{{- $args := list -}}
{{- if eq (include "koordinator.profile" .root) "recommended" -}}
{{- range fromYamlArray (.root.Files.Get (printf "recommended/%s" .file)) -}}{{- $args = append $args .value -}}{{- end -}}
{{- end -}}
{{- toJson $args -}}
{{- end -}}

{{/* Labels on every object. */}}
{{- define "koordinator.labels" -}}
{{- $meta := .object.metadata -}}
{{- $ours := dict "app.kubernetes.io/name" "koordinator" "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $_ := set $meta "labels" (merge (default (dict) $meta.labels) $ours) -}}
{{- end -}}

{{/* The documents of a shipped file as they are. */}}
{{- define "koordinator.shipped" -}}
{{- $root := .root -}}
{{- range $text := splitList "\n---\n" (include "koordinator.file" .) -}}
{{- $object := fromYaml $text -}}
{{- include "koordinator.labels" (dict "root" $root "object" $object) -}}
{{- if and (eq $object.kind "ServiceAccount") $root.Values.serviceAccount.annotations -}}
{{- $_ := set $object.metadata "annotations" $root.Values.serviceAccount.annotations -}}
{{- end }}
---
{{ toYaml $object }}
{{- end -}}
{{- end -}}

{{/* The Deployment or DaemonSet of a shipped file, as the values of its component want it. */}}
{{- define "koordinator.workload" -}}
{{- $root := .root -}}
{{- $values := .values -}}
{{- $object := fromYaml (include "koordinator.file" .) -}}
{{- include "koordinator.labels" (dict "root" $root "object" $object) -}}
{{- $pod := $object.spec.template.spec -}}
{{- $container := index $pod.containers 0 -}}
{{- $tag := default $root.Chart.AppVersion $values.image.tag -}}
{{- $_ := set $container "image" (printf "%s/%s:%s" $root.Values.imageRepositoryHost $values.image.repository $tag) -}}
{{- $_ := set $container "imagePullPolicy" $root.Values.imagePullPolicy -}}
{{- $_ := set $container "args" (concat $container.args .args (list (printf "--v=%v" $values.log.level))) -}}
{{- if $values.resources -}}{{- $_ := set $container "resources" $values.resources -}}{{- end -}}
{{- if hasKey $values "replicas" -}}{{- $_ := set $object.spec "replicas" (int $values.replicas) -}}{{- end -}}
{{- if $values.hostNetwork -}}{{- $_ := set $pod "hostNetwork" true -}}{{- $_ := set $pod "dnsPolicy" "ClusterFirstWithHostNet" -}}{{- end -}}
{{- if $values.nodeSelector -}}{{- $_ := set $pod "nodeSelector" $values.nodeSelector -}}{{- end -}}
{{- if $values.tolerations -}}{{- $_ := set $pod "tolerations" $values.tolerations -}}{{- end -}}
{{- if $values.runtimeClassName -}}{{- $_ := set $pod "runtimeClassName" $values.runtimeClassName -}}{{- end -}}
{{- if $values.nodeAffinity -}}
{{- $_ := set $pod "affinity" (merge (dict "nodeAffinity" $values.nodeAffinity) (default (dict) $pod.affinity)) -}}
{{- end -}}
{{- if $root.Values.imagePullSecrets -}}{{- $_ := set $pod "imagePullSecrets" $root.Values.imagePullSecrets -}}{{- end }}
---
{{ toYaml $object }}
{{- end -}}

{{/* A PodMonitor of the Prometheus operator. */}}
{{- define "koordinator.podMonitor" }}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata:
  name: {{ .name }}
  namespace: {{ .root.Values.installation.namespace }}
spec:
  selector:
    matchLabels:
      koord-app: {{ .name }}
  podMetricsEndpoints:
  - port: {{ .port }}
    path: {{ .path }}
{{- end -}}
