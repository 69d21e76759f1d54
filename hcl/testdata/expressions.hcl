variable "size" {
  description = "How large"
  type        = string
  default     = "small"
}

variable "tools" {
  type    = list(string)
  default = ["git", "jq"]
}

variable "any" {
  default = 2
}

locals {
  # Used before it is defined.
  path   = join(":", [for dir in local.dirs : "${dir}/bin"])
  dirs   = concat(["/opt/yurt"], [for tool in var.tools : "/opt/${tool}"], ["/usr"])
  memory = { small = "256Mi", large = "2Gi" }
  common = {
    PATH = local.path
    LANG = "C.UTF-8"
  }
}

template "expressions" {
  description = upper(format("%s-%03d", var.size, length(var.tools)))
  env = merge(local.common, {
    TOOLS    = join(",", sort(var.tools))
    GREETING = "%{if var.size == "small"}tiny%{else}huge%{endif}"
    LIST     = "%{for tool in var.tools}<${tool}>%{endfor}"
    JSON     = jsonencode({ a = [1, 2, { b = null }] })
    (upper("made_up")) = "key"
    SPLAT    = join("+", [{ n = 1 }, { n = 2 }][*].n)
  })
  rootfs {
    host {
      paths = local.dirs
    }
  }
  resources {
    cpu    = var.any * 1.5
    memory = local.memory[var.size]
    pids   = var.size == "small" ? 32 : 512
  }
}
