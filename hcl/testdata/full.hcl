# Every block and attribute, none with its default.
template "full" {
  description = "Everything that can be said"
  runtimes    = ["python", "node-22"]
  preload     = ["numpy", "matplotlib.pyplot"]

  env = {
    PATH        = "/opt/tools/bin:/usr/bin"
    "with.dots" = "yes"
    NUMBER      = 42
    BOOL        = true
    EMPTY       = ""
    QUOTES      = "a \"b\" $${c} %%{d} \\ \u00e9 \t"
    LINES       = <<-END
      one
        two
    END
  }

  dependencies = {
    python    = ["numpy==2.1.0", "pandas"]
    "node-22" = ["zod@3.23.8"]
  }

  kernels = {
    python = "ipykernel"
  }

  rootfs {
    host {
      paths = ["/usr", "/opt/tools", "/etc/ssl/certs"]
    }
  }

  resources {
    cpu    = 1.5
    memory = "1.5Gi"
    disk   = 1048576
    pids   = 64

    disk_kind = "memory"
    io_weight = 250
    ulimits {
      nofile = 1024
      fsize  = "1Gi"
      stack  = 8388608
    }
  }

  isolation {
    level         = "namespaces"
    per_execution = true
    system_calls  = ["ptrace", "perf-self"]
  }

  network {
    mode = "none"
  }

  session {
    timeout           = "1h30m"
    idle_timeout      = 90
    execution_timeout = 0.5
    output_limit      = "1MB"
  }

  warm_pool {
    min          = 2
    max          = 8
    idle_timeout = "2m"
    interpreter  = true
  }
}
