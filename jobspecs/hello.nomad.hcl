# The first job: one command in a sandbox, with its output in `nomad alloc logs`.
#
#     nomad job run hello.nomad.hcl
job "hello" {
  type = "batch"

  group "hello" {
    task "hello" {
      driver = "yurt"

      config {
        command = "echo"
        args    = ["Hello from a sandbox, task ${NOMAD_TASK_NAME}"]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
