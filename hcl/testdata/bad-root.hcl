memory = "1Gi"
answer = 42

tempalte "typing-error" {}

resources {
  cpu = 2
}

job "nomad" {}

template {}

template "two" "labels" {}

locals "label" {}

template "twice" {}

template "twice" {}
