# rust-basic runs Rust: snippets and projects, built by the rustc of the host (Debian's
# rustc, or an installation for all users in /usr/local) and, where it is, by cargo.
# Commands work in it too.

template "rust-basic" {
  description = "Rust with the toolchain of the host"
  extends     = "shell-basic"
  runtimes    = ["rust"]

  # A compiler needs more memory and processes than most programs.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and the same of /tmp, which has the compiled programs
    pids   = 512
  }
}
