# One sandbox on every node with the driver.
job "everywhere" {
  type = "system"

  group "beat" {
    task "beat" {
      driver       = "yurt"
      kill_timeout = "1s"

      config {
        command = "sh"
        args    = ["-c", "while :; do echo \"alive on ${node.unique.name}\"; sleep 5; done"]
      }

      resources {
        cpu    = 20
        memory = 32
      }
    }
  }
}
