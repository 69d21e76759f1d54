# rust-image runs Rust with the toolchain of a container image, which can be newer than the host's. Code is
# compiled as with the host's; packages that `dependencies` names are built by the image's cargo.
#
# The operator of a node says from which registries images come: --image-registries docker.io

template "rust-image" {
  description = "Rust with the toolchain of an image"
  runtimes    = ["rust", "bash"]

  rootfs {
    image = "docker.io/library/rust:1.90"
  }

  resources {
    cpu    = 1
    memory = "2Gi"
    disk   = "1Gi"
    pids   = 512
  }
}
