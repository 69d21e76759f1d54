# cpp-image runs C and C++ with the compiler of a container image: GCC in /usr/local/bin or /usr/bin, or Clang.
#
# The operator of a node says from which registries images come: --image-registries docker.io

template "cpp-image" {
  description = "C and C++ with the compiler of an image"
  runtimes    = ["cpp", "c", "bash"]

  rootfs {
    image = "docker.io/library/gcc:15"
  }

  resources {
    cpu    = 1
    memory = "2Gi"
    disk   = "1Gi"
    pids   = 512
  }
}
