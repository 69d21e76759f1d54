# java-basic runs Java: snippets and projects, compiled and run by the JDK of the host
# (Debian's default-jdk-headless).
# Commands work in it too.

template "java-basic" {
  description = "Java with the toolchain of the host"
  extends     = "shell-basic"
  runtimes    = ["java"]

  # A compiler needs more memory and processes than most programs.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and the same of /tmp, which has the compiled programs
    pids   = 512
  }
}
