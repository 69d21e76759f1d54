# A template may come before the one that it extends, and extend one that does.
template "data-large" {
  extends = "data"
  resources {
    memory = "4Gi"
  }
}

template "data" {
  description = "Not inherited, unlike the rest"
  extends     = "python-basic" # one of the defaults
  runtimes    = ["python", "bash"]

  env = {
    LANG      = null # inherited and taken away
    DATA_HOME = "/workspace/data"
  }
  resources {
    cpu = 2
  }
  rootfs {
    host {
      paths = ["/usr", "/bin", "/lib", "/lib64", "/opt/data"]
    }
  }
}

template "packages" {
  extends      = "python-basic"
  dependencies = { python = ["six", "numpy", "six"] }
}

template "more-packages" {
  extends      = "packages"
  runtimes     = ["python", "javascript"]
  dependencies = { javascript = ["ms"] }
}

template "no-packages" {
  extends      = "packages"
  dependencies = { python = null }
}

template "jupyter" {
  extends = "packages"
  kernels = { python = "ipykernel" }
}

template "more-jupyter" {
  extends  = "jupyter"
  runtimes = ["python", "javascript"]
  kernels  = { javascript = "ijavascript" }
}

template "no-jupyter" {
  extends = "jupyter"
  kernels = { python = null }
}
