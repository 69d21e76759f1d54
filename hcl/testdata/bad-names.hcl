template "names" {
  descripton = "a typing error"
  memory     = "1Gi"
  resources  = { cpu = 2 }
  colour     = "blue"

  env {
    A = 1
  }
  resource {
    cpu = 2
  }
  resources {
    memry = "1Gi"
    cores = 2
    paths = ["/usr"]
  }
  session "label" {
    timeout = "1h"
  }
  network {
    mode = "none"
  }
  network {
    mode = "none"
  }
}
