template "paths" {
  rootfs {
    host {
      paths = [
        "/usr",
        "/usr",
        "",
        "usr",
        "/usr/",
        "/usr/../root",
        "/",
        "/root",
        "/home/someone",
        "/var/lib",
        "/etc",
        "/etc/shadow",
        "/proc",
        "/sys",
        "/dev/null",
        "/run",
        "/tmp",
        "/workspace/x",
        "/a\u0001b",
        "/rooted-elsewhere-is-fine",
      ]
    }
  }
}

template "none" {
  rootfs {
    host {
      paths = []
    }
  }
}
