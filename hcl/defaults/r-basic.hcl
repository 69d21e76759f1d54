# r-basic runs R: snippets and projects, by the R of the host (Debian's r-base-core).
# Commands work in it too.

template "r-basic" {
  description = "R with the packages of the host"
  extends     = "shell-basic"
  runtimes    = ["r"]
}
