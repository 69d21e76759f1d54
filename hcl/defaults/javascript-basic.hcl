# javascript-basic runs JavaScript: snippets, projects and Lambda-style handlers, with
# the Node of the host, in /usr or /usr/local. Commands work in it too.

template "javascript-basic" {
  description = "JavaScript code and handlers with the Node of the host"

  # Files, environment and everything else that is not said here come from there.
  extends = "shell-basic"

  runtimes = ["javascript"]
}
