# c-basic runs C: snippets and projects, built by the compiler of the host (Debian's
# gcc and libc6-dev, or clang).
# Commands work in it too.

template "c-basic" {
  description = "C with the toolchain of the host"
  extends     = "shell-basic"
  runtimes    = ["c"]

  # A compiler needs more memory and processes than most programs.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and the same of /tmp, which has the compiled programs
    pids   = 512
  }
}
