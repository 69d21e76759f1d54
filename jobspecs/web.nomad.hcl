# A service with a port of the node's and a check. The operator of the client has to allow
# the node's network: host_network = true in the driver's plugin block. In a group network
# of mode "bridge" nothing needs to be allowed.
job "web" {
  group "web" {
    # Without this block a client that is away for longer than its heartbeat, about 10 to 30 s,
    # is told to stop the service when it is back. With it there is a second one meanwhile, and
    # the first one stays.
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
