variable "declared" {
  type    = number
  default = "many"
}

variable "no_value" {}

variable "no_value" {
  default = 1
}

variable "later" {
  default   = 1
  sensitive = true
  tpye      = string
}

variable "not_constant" {
  default = var.declared
}

variable "bad_type" {
  type    = strnig
  default = ""
}

variable {
  default = 1
}

locals {
  one   = local.two
  two   = local.three
  three = "${local.one}"
  wrong = 1 + "x"
  list  = keys(local)
  name  = "fine"
  block {
  }
}

locals {
  name = "again"
}

template "expressions" {
  description = vra.name
  runtimes    = [python]
  env = {
    A = var.declard
    B = local.nam
  }
  resources {
    cpu    = local.name.too.deep
    memory = nosuchfunction(1)
    disk   = upper(1, 2)
    pids   = local.wrong # reported where it is defined
  }
  session {
    timeout           = file("/etc/passwd")
    idle_timeout      = {}.missing
    execution_timeout = [for x in 5 : x]
  }
}
