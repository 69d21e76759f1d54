# shell-basic runs commands: the host's programs in the directories that templates
# bind by default (/usr, /bin, /lib and a few files of /etc), read-only. It has no
# language, so it takes commands but no code.
#
# All other settings have their defaults; docs/TEMPLATES.md lists them.

template "shell-basic" {
  description = "Shell commands with the programs of the host"

  # No language: a session runs only commands.
  runtimes = []

  env = {
    PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
    HOME = "/workspace" # the only writable directory besides /tmp
    LANG = "C.UTF-8"
  }
}
