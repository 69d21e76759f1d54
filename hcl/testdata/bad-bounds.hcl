template "bounds" {
  resources {
    cpu    = 1000
    memory = "1Mi"
    disk   = -1
    pids   = 100000
  }
  session {
    timeout           = "30d"
    idle_timeout      = "500ms"
    execution_timeout = "2h"
    output_limit      = "1Gi"
  }
}

template "zero" {
  resources {
    cpu    = 0
    memory = 0
    disk   = "0"
    pids   = 0
  }
  session {
    timeout           = 0
    idle_timeout      = "0s"
    execution_timeout = 0
    output_limit      = 0
  }
}

template "huge" {
  resources {
    memory = 1e20
    pids   = 1e20
  }
  session {
    timeout = 1e20
  }
}

template "limits" {
  resources {
    disk      = "2Mi"
    disk_kind = "image"
    io_weight = 1001
    ulimits {
      nofile = 10
      fsize  = 1
      stack  = "2Gi"
    }
  }
}

template "kinds" {
  resources {
    disk_kind = "floppy"
    ulimits {
      core = 1
    }
  }
  isolation {
    per_execution = "perhaps"
  }
}
