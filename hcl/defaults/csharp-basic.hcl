# csharp-basic runs C#: snippets and projects, compiled and run by the .NET SDK of the
# host, or by its Mono (Debian's mono-mcs).
# Commands work in it too.

template "csharp-basic" {
  description = "C# with the toolchain of the host"
  extends     = "shell-basic"
  runtimes    = ["csharp"]

  # A compiler needs more memory and processes than most programs.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and the same of /tmp, which has the compiled programs
    pids   = 512
  }
}
