# A template with a secret from Nomad's variables. /secrets is in memory, and only the task can
# read it. Write the variable first:
#
#     nomad var put nomad/jobs/secrets password=correct-horse
job "secrets" {
  type = "batch"

  group "secrets" {
    task "login" {
      driver = "yurt"

      config {
        command = "sh"
        args    = ["-c", "stat -c '%a %u' /secrets/password && wc -c < /secrets/password && echo \"user $DB_USER\""]
      }

      template {
        destination = "secrets/password"
        perms       = "0400"
        uid         = 1000
        gid         = 1000
        data        = "{{ with nomadVar \"nomad/jobs/secrets\" }}{{ .password }}{{ end }}"
      }

      template {
        destination = "secrets/env"
        env         = true
        data        = "DB_USER=reader\n"
      }

      resources {
        cpu    = 50
        memory = 64
      }
    }
  }
}
