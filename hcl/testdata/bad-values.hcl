template "Upper_Case" {}

template "-dash" {}

template "" {}

template "0123456789012345678901234567890123456789012345678901234567890123" {}

template "values" {
  description = "a bell: \u0007"
  runtimes    = ["python", "Python 3", "python"]
  env = {
    A     = 1
    "B=C" = "x"
    ""    = "x"
    "a b" = "x"
    NUL   = "a\u0000b"
  }
  dependencies = {
    python     = ["numpy", " six", "--index-url=x"]
    javascript = ["ms"]
  }
  kernels = {
    python     = "IPython Kernel"
    javascript = "ijavascript"
  }
  isolation {
    level = "strong"
  }
  network {
    mode = "yes"
  }
}

template "twice" {
  env = {
    A   = 1
    "A" = 2
  }
}

template "null-key" {
  env = {
    (null) = 3
  }
}
