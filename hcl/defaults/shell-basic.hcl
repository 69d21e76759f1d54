# shell-basic runs commands: whatever programs the host has in the directories that
# every template binds when it says nothing else (/usr, /bin, /lib and a little of
# /etc), read-only. It knows no language, so it takes commands and no code.
#
# Everything that is not said here has its default; docs/TEMPLATES.md lists them.

template "shell-basic" {
  description = "Shell commands with the programs of the host"

  # No language: what a session runs are commands.
  runtimes = []

  env = {
    PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
    HOME = "/workspace" # the one directory that can be written, besides /tmp
    LANG = "C.UTF-8"
  }
}
