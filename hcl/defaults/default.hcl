# default runs every language that Yurt knows, with the toolchains of the host. It is the
# template of a session that names none. A language whose toolchain the host does not have is
# refused when something is to run in it. Commands work in it too.

template "default" {
  description = "Every language whose toolchain the host has"
  extends     = "shell-basic"

  # Python is the first: it is the language of code that names none.
  runtimes = [
    "python", "javascript", "typescript", "bash", "go", "rust", "java", "c", "cpp", "csharp", "r",
  ]

  # A compiler takes more than most programs that it makes.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and again of /tmp, where the compiler's results are
    pids   = 512
  }
}
