{{- define "namespace" -}}
{{ if .Values.namespace.create }}{{ .Values.namespace.name }}{{ else }}{{ .Release.Namespace }}{{ end }}
{{- end }}

{{- define "image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else if .Values.image.tag }}:{{ .Values.image.tag }}{{ end }}
{{- end }}
