# What a controller registers for each slot: room on a node for one sandbox at a time.
#
# This file is built into `yurt controller`. To change it, give it a copy:
#
#     yurt controller --jobspec /etc/yurt/session.nomad.hcl
#
# Add constraints, affinities, a spread, a node pool, anything of Nomad's. The controller fills
# in what differs from slot to slot: the job's name, its meta, resources (cpu, memory,
# ephemeral_disk), affinities to preferred nodes, a constraint to nodes that allow images where
# the template has one, and `config { slot { … } resources { … } }` of the task whose driver is
# "yurt". No environment, file or secret of a session goes through Nomad.
job "session" {
  type        = "batch"
  datacenters = ["*"]

  # That of a slot which a session waits for. One that is kept warm has 10 less.
  priority = 60

  # Not on nodes whose executor does not announce itself to controllers, or whose operator allows
  # no slots. A node whose driver is too old to say so is taken.
  constraint {
    attribute = "${attr.driver.yurt.announced}"
    operator  = "!="
    value     = "false"
  }

  constraint {
    attribute = "${attr.driver.yurt.slots}"
    operator  = "!="
    value     = "false"
  }

  group "slot" {
    # A sandbox that has ended is not another's: the executor makes the next one of a warm
    # slot by itself, and a session that lost its own is told so.
    restart {
      attempts = 0
      mode     = "fail"
    }

    reschedule {
      attempts  = 0
      unlimited = false
    }

    # Sandboxes go on without Nomad's client. Without this block Nomad's servers would stop
    # them when a client returns that had been away for longer than its heartbeat, about 10 to
    # 30 s. The time is long because controllers end the slots of a node that is lost.
    disconnect {
      lost_after = "720h"
      replace    = false
    }

    task "sandbox" {
      driver       = "yurt"
      kill_timeout = "10s"

      # What runs in the sandbox is logged by its session.
      logs {
        disabled      = true
        max_files     = 1
        max_file_size = 1
      }
    }
  }
}
