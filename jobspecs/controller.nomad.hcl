# The controller, which serves the REST API, as a Nomad job: any number of instances, behind a load
# balancer that finds `yurt-controller` in Consul.
#
# Its secrets are in Nomad variables, which only this job can read:
#
#     nomad var put nomad/jobs/yurt-controller \
#         tls_ca=@yurt-ca.pem tls_cert=@controller.pem tls_key=@controller-key.pem \
#         store=postgres://yurt@db.example.org/yurt
#     nomad job run controller.nomad.hcl
#
# or, with `-var vault=…`, in Vault, in a secret with the same fields in an engine kv of version 2.
# docs/CLUSTER.md describes how to make Vault trust the job.
#
#     vault kv put -mount=secret yurt-controller tls_ca=@yurt-ca.pem …
#     nomad job run -var vault=secret/data/yurt-controller controller.nomad.hcl
#
# With ACLs, the controller sends its requests to Nomad with the job's identity, which needs this policy:
#
#     nomad acl policy apply -namespace default -job yurt-controller yurt-controller - <<POLICY
#     namespace "default" { capabilities = ["submit-job", "read-job", "list-jobs", "parse-job"] }
#     node { policy = "read" }
#     POLICY

variable "yurt" {
  type        = string
  default     = "/usr/local/bin/yurt"
  description = "The path of the yurt binary on the nodes"
}

variable "count" {
  type        = number
  default     = 1
  description = "How many controllers; more than one need PostgreSQL as their store"
}

variable "consul" {
  type        = string
  default     = "127.0.0.1:8500"
  description = "The address of a node's agent of Consul"
}

variable "vault" {
  type        = string
  default     = ""
  description = "The path of the secret in Vault, such as secret/data/yurt-controller; none for Nomad's variables"
}

variable "insecure_listen" {
  type        = bool
  default     = false
  description = "Listen where others can reach it: without TLS and keys, so something in front of it has to ask for them"
}

locals {
  # The beginning and the end of a template that reads the fields of the secret.
  begin = var.vault == "" ? "{{ with nomadVar \"nomad/jobs/yurt-controller\" }}" : "{{ with secret \"${var.vault}\" }}{{ with .Data.data }}"
  end   = var.vault == "" ? "{{ end }}" : "{{ end }}{{ end }}"
}

job "yurt-controller" {
  type        = "service"
  datacenters = ["*"]
  priority    = 80

  group "controller" {
    count = var.count

    # Instances are updated one after the other. If a new version does not get ready, Nomad returns to the last one.
    update {
      max_parallel     = 1
      health_check     = "checks"
      min_healthy_time = "5s"
      healthy_deadline = "2m"
      auto_revert      = true
    }

    restart {
      attempts = 10
      interval = "5m"
      delay    = "2s"
      mode     = "delay"
    }

    # Without max_delay, Nomad would wait up to an hour before it retries a controller that failed to start.
    reschedule {
      delay          = "10s"
      delay_function = "exponential"
      max_delay      = "1m"
      unlimited      = true
    }

    # A controller continues while its node's Nomad client is disconnected, and stays when the client
    # reconnects. A replacement serves in the meantime.
    disconnect {
      lost_after = "24h"
      replace    = true
      reconcile  = "keep_original"
    }

    network {
      port "http" {}
    }

    service {
      name     = "yurt-controller"
      port     = "http"
      provider = "consul"

      check {
        name     = "ready"
        type     = "http"
        path     = "/ready"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "controller" {
      driver       = "raw_exec"
      kill_signal  = "SIGINT"
      kill_timeout = "30s"

      config {
        command = var.yurt
        args    = concat(["controller"], var.insecure_listen ? ["--insecure"] : [])
      }

      # The controller reaches Nomad through the node's agent, with this job's identity.
      identity {
        file = true
      }

      # Only Nomad's templates need Vault's token: the controller never has it.
      dynamic "vault" {
        for_each = var.vault == "" ? [] : [var.vault]
        content {
          role         = "yurt-controller"
          change_mode  = "noop"
          env          = false
          disable_file = true
        }
      }

      env {
        YURT_LISTEN           = "${NOMAD_ADDR_http}"
        YURT_STATE_DIR        = "${NOMAD_ALLOC_DIR}/data"
        YURT_LOG_FORMAT       = "json"
        YURT_NOMAD            = "unix://${NOMAD_SECRETS_DIR}/api.sock"
        YURT_NOMAD_TOKEN_FILE = "${NOMAD_SECRETS_DIR}/nomad_token"
        YURT_CONSUL           = var.consul
        YURT_TLS_CA           = "${NOMAD_SECRETS_DIR}/ca.pem"
        YURT_TLS_CERT         = "${NOMAD_SECRETS_DIR}/controller.pem"
        YURT_TLS_KEY          = "${NOMAD_SECRETS_DIR}/controller-key.pem"
      }

      # The controller loads renewed certificates without a restart.
      template {
        destination          = "${NOMAD_SECRETS_DIR}/ca.pem"
        change_mode          = "noop"
        error_on_missing_key = true
        data                 = "${local.begin}{{ .tls_ca }}${local.end}"
      }

      template {
        destination          = "${NOMAD_SECRETS_DIR}/controller.pem"
        change_mode          = "noop"
        error_on_missing_key = true
        data                 = "${local.begin}{{ .tls_cert }}${local.end}"
      }

      template {
        destination          = "${NOMAD_SECRETS_DIR}/controller-key.pem"
        change_mode          = "noop"
        perms                = "0600"
        error_on_missing_key = true
        data                 = "${local.begin}{{ .tls_key }}${local.end}"
      }

      # The address of the store and other secret settings. A change restarts the controller.
      template {
        destination = "${NOMAD_SECRETS_DIR}/settings.env"
        env         = true
        data        = <<-ENV
          ${local.begin}
          {{ if .store }}YURT_STORE={{ .store }}{{ end }}
          {{ if .consul_token }}CONSUL_HTTP_TOKEN={{ .consul_token }}{{ end }}
          ${local.end}
        ENV
      }

      resources {
        cpu    = 500
        memory = 256
      }
    }
  }
}
