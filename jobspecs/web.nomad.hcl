# A service with a port of the node and a check. The operator must allow the node's network with
# host_network = true in the driver's plugin block. A group network of mode "bridge" needs no
# permission.
job "web" {
  group "web" {
    # Without this block, a client that was disconnected for longer than its heartbeat, about 10 to 30 s,
    # must stop the service when it returns. With it, a second instance runs in the meantime and the first
    # one stays.
    disconnect {
      lost_after = "24h"
      replace    = true
      reconcile  = "keep_original"
    }

    network {
      port "http" {}
    }

    service {
      name     = "yurt-web"
      provider = "nomad"
      port     = "http"

      check {
        type     = "http"
        path     = "/"
        interval = "5s"
        timeout  = "2s"
      }
    }

    task "server" {
      driver       = "yurt"
      kill_timeout = "5s"

      config {
        command = "python3"
        args    = ["-m", "http.server", "${NOMAD_PORT_http}", "--directory", "/local"]
      }

      template {
        destination = "local/index.html"
        data        = "Served from a sandbox\n"
      }

      resources {
        cpu    = 100
        memory = 128
      }
    }
  }
}
