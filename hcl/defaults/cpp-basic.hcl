# cpp-basic runs C++: snippets and projects, built by the compiler of the host (Debian's
# g++, or clang++).
# Commands work in it too.

template "cpp-basic" {
  description = "C++ with the toolchain of the host"
  extends     = "shell-basic"
  runtimes    = ["cpp"]

  # A compiler takes more than most programs that it makes.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and again of /tmp, where the compiler's results are
    pids   = 512
  }
}
