template "one" {
  description = "The first"
}

template "two" {
  description = "The second, with null as good as nothing"
  runtimes    = null
  env         = null
  resources {
    memory = null
  }
}
