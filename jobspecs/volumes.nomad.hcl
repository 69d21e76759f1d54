# Host volumes, one of them read-only. The Nomad client's configuration defines them:
#
#     client {
#       host_volume "data" { path = "/srv/data" }
#     }
#
# A file has the same owner's number inside and outside the sandbox; user sets the task's user.
job "volumes" {
  type = "batch"

  group "volumes" {
    volume "data" {
      type   = "host"
      source = "data"
    }

    volume "fixed" {
      type      = "host"
      source    = "data"
      read_only = true
    }

    task "write" {
      driver = "yurt"
      user   = "nobody"

      config {
        command = "sh"
        args    = ["-c", "date > /data/written && cat /fixed/written && ! touch /fixed/other"]
      }

      volume_mount {
        volume      = "data"
        destination = "/data"
      }

      volume_mount {
        volume      = "fixed"
        destination = "/fixed"
        read_only   = true
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
