# java-basic runs Java: snippets and projects, compiled and run by the JDK of the host
# (Debian's default-jdk-headless).
# Commands work in it too.

template "java-basic" {
  description = "Java with the toolchain of the host"
  extends     = "shell-basic"
  runtimes    = ["java"]

  rootfs {
    # Debian keeps a part of a JDK in /etc. What is not on this host is left out.
    host {
      paths = [
        "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32",
        "/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl/certs",
        "/etc/java-11-openjdk", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/java-25-openjdk",
      ]
    }
  }

  # A compiler takes more than most programs that it makes.
  resources {
    cpu    = 1
    memory = "1Gi"
    disk   = "512Mi" # of /workspace, and again of /tmp, where the compiler's results are
    pids   = 512
  }
}
