# What Yurt will have, and this version has not.
template "later" {
  for_each      = ["a", "b"]
  packages      = ["numpy"]
  ready_command = ["true"]

  rootfs {
    tarball = "/srv/root.tar"
  }
  build {
    run = "pip install numpy"
  }
  mount {
    source = "/srv/data"
  }
  isolation {
    level  = "gvisor"
    strict = true
  }
  network {
    mode = "egress"
    egress {
      allow = ["api.example.com"]
    }
  }
  dynamic "rootfs" {
    content {}
  }
}

template "host-network" {
  network {
    mode = "host"
  }
}
