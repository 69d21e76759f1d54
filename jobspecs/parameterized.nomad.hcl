# A job that is dispatched with a payload, which Nomad writes to the task's directory.
#
#     echo hello | nomad job dispatch -meta name=World shout -
job "shout" {
  type = "batch"

  parameterized {
    payload       = "required"
    meta_required = ["name"]
  }

  group "shout" {
    task "shout" {
      driver = "yurt"

      dispatch_payload {
        file = "words.txt"
      }

      config {
        command = "sh"
        args    = ["-c", "tr a-z A-Z < /local/words.txt; echo \"for $NOMAD_META_name\""]
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
