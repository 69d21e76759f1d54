# A batch job with code: the node's language runtime runs it, in a sandbox of the built-in
# template for the language.
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
