# javascript-basic runs JavaScript: snippets, projects and Lambda-style handlers, with
# the Node of the host, in /usr or /usr/local. Commands work in it too.

template "javascript-basic" {
  description = "JavaScript code and handlers with the Node of the host"

  # All settings that are missing here, such as files and environment, come from there.
  extends = "shell-basic"

  runtimes = ["javascript"]
}
