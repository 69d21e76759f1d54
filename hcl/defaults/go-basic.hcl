# go-basic runs Go: snippets and projects, built by the go command of the host
# (/usr/local/go, or Debian's golang-go). Nothing is downloaded; cgo is off.
# Commands work in it too.

template "go-basic" {
  description = "Go with the toolchain of the host"
  extends     = "shell-basic"
  runtimes    = ["go"]

  # A compiler takes more than most programs that it makes.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and again of /tmp, where the compiler's results are
    pids   = 512
  }
}
