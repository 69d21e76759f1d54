template "a" {
  extends = "b"
}

template "b" {
  extends = "c"
}

template "c" {
  extends = "a"
}

template "self" {
  extends = "self"
}

template "unknown" {
  extends = "python-bsic"
}

template "not-text" {
  extends = ["python-basic"]
}

# Its base is wrong: that is said there, and not again here.
template "child-of-wrong" {
  extends = "wrong"
  resources {
    cpu = 100000
  }
}

template "wrong" {
  resources {
    memory = "1Ki"
  }
}
