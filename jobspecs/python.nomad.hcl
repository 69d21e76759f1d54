# A batch job that is code: the node's language runtime says how to run it, and the template
# that ships for the language what is in the sandbox.
job "python" {
  type = "batch"

  group "sum" {
    task "sum" {
      driver = "yurt"

      config {
        language = "python"
        code     = <<-EOT
          import os
          numbers = range(1, 101)
          print("the sum is", sum(numbers), "as user", os.getuid())
        EOT
      }

      resources {
        cpu    = 100
        memory = 128
      }
    }
  }
}
