template "types" {
  description = ["a", "list"]
  runtimes    = "python"
  env         = ["A=1"]

  resources {
    cpu    = "many"
    memory = "512 parsecs"
    disk   = true
    pids   = 2.5
  }
  session {
    timeout           = "soon"
    idle_timeout      = [30]
    execution_timeout = true
    output_limit      = 1.5
  }
}

template "elements" {
  runtimes = ["python", ["node"]]
  env = {
    A = "fine"
    B = { c = 1 }
  }
  rootfs {
    host {
      paths = ["/usr", null]
    }
  }
}

template "dependencies" {
  runtimes     = ["python", "javascript"]
  dependencies = { python = "numpy", javascript = [["ms"]] }
}

template "no-map" {
  dependencies = ["numpy"]
}
