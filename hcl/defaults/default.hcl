# default runs every language that Yurt knows, with the toolchains of the host. It is the
# template of sessions that name no template. Code in a language whose toolchain the host lacks
# is refused. Commands work in it too.

template "default" {
  description = "Every language whose toolchain the host has"
  extends     = "shell-basic"

  # Python is the first: it is the language of code without a named language.
  runtimes = [
    "python", "javascript", "typescript", "bash", "go", "rust", "java", "c", "cpp", "csharp", "r",
  ]

  # A compiler needs more memory and processes than most programs.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and the same of /tmp, which has the compiled programs
    pids   = 512
  }
}
