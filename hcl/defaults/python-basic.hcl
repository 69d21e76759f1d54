# python-basic runs Python: snippets, scripts and Lambda-style handlers, with the
# interpreter of the host and its standard library. Commands work in it too.

template "python-basic" {
  description = "Python code and handlers with the interpreter of the host"

  # Files, environment and everything else that is not said here come from there.
  extends = "shell-basic"

  # The language runtime that plans how Python is run: a plugin of that name.
  runtimes = ["python"]

  # What one sandbox may use. A session can ask for other limits when it is created.
  resources {
    cpu    = 1       # cores
    memory = "512Mi" # or a number of bytes
    disk   = "256Mi" # of /workspace
    pids   = 256     # processes and threads
  }

  # Kernel namespaces, seccomp and cgroups; nothing of the network but a loopback
  # interface of the sandbox's own.
  isolation {
    level = "namespaces"
  }
  network {
    mode = "none"
  }

  session {
    timeout           = "6h"  # of a session's whole life
    idle_timeout      = "30m" # since it was last used
    execution_timeout = "5m"  # of one run
    output_limit      = "8Mi" # of stdout and of stderr, each
  }
}
