# python-basic runs Python: snippets, scripts and Lambda-style handlers, with the
# interpreter of the host and its standard library. Commands work in it too.

template "python-basic" {
  description = "Python code and handlers with the interpreter of the host"

  # All settings that are missing here, such as files and environment, come from there.
  extends = "shell-basic"

  # The language runtime for Python: a plugin of that name.
  runtimes = ["python"]

  # The limits of a sandbox. A session can have other limits, which its creation sets.
  resources {
    cpu    = 1       # cores
    memory = "512Mi" # or a number of bytes
    disk   = "256Mi" # of /workspace
    pids   = 256     # processes and threads
  }

  # Kernel namespaces, seccomp and cgroups. The sandbox has no network but its own
  # loopback interface.
  isolation {
    level = "namespaces"
  }
  network {
    mode = "none"
  }

  session {
    timeout           = "6h"  # a session's lifetime
    idle_timeout      = "30m" # a session's time without use
    execution_timeout = "5m"  # time limit of an execution
    output_limit      = "8Mi" # of stdout and of stderr, each
  }
}
