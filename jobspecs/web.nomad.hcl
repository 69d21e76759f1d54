# A service with a port of the node's and a check. The operator of the client has to allow
# the node's network: host_network = true in the driver's plugin block. In a group network
# of mode "bridge" nothing needs to be allowed.
job "web" {
  group "web" {
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
