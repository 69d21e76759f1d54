# go-basic runs Go: snippets and projects, built by the go command of the host
# (/usr/local/go, or Debian's golang-go). Builds download no modules; cgo is off.
# Commands work in it too.

template "go-basic" {
  description = "Go with the toolchain of the host"
  extends     = "shell-basic"
  runtimes    = ["go"]

  # A compiler needs more memory and processes than most programs.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and the same of /tmp, which has the compiled programs
    pids   = 512
  }
}
