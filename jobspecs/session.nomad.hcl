# The job that a controller registers for each slot. A slot holds one sandbox at a time on a node.
#
# This file is built into `yurt controller`. To change it, start the controller with a copy:
#
#     yurt controller --jobspec /etc/yurt/session.nomad.hcl
#
# Add constraints, affinities, a spread, a node pool or any other setting of Nomad. The controller
# fills in the values of each slot: the job's name, its meta, resources (cpu, memory,
# ephemeral_disk), affinities to preferred nodes, a constraint to nodes that allow images if the
# template has one, and `config { slot { … } resources { … } }` of the task with the driver "yurt".
# No environment, file or secret of a session passes through Nomad.
job "session" {
  type        = "batch"
  datacenters = ["*"]

  # The priority of a slot for which a session waits. A warm slot has 10 less.
  priority = 60

  # Excludes nodes whose executor does not announce itself to controllers or whose operator allows
  # no slots. Nodes with a driver too old for this attribute are allowed.
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
    # Nomad must not restart an ended sandbox: the executor itself makes the next one of a warm slot,
    # and a session whose sandbox is lost gets an event.
    restart {
      attempts = 0
      mode     = "fail"
    }

    reschedule {
      attempts  = 0
      unlimited = false
    }

    # Sandboxes continue without Nomad's client. Without this block, Nomad's servers would stop them when
    # a client returns that was disconnected for longer than its heartbeat, about 10 to 30 s. The time
    # is long because controllers end the slots of a lost node.
    disconnect {
      lost_after = "720h"
      replace    = false
    }

    task "sandbox" {
      driver       = "yurt"
      kill_timeout = "10s"

      # The session keeps the output of its executions.
      logs {
        disabled      = true
        max_files     = 1
        max_file_size = 1
      }
    }
  }
}
