# bash-basic runs Bash scripts and projects of them, with the Bash of the host. Where a
# line for the shell is enough, shell-basic does.

template "bash-basic" {
  description = "Bash scripts with the programs of the host"

  # Files, environment and everything else that is not said here come from there.
  extends = "shell-basic"

  runtimes = ["bash"]
}
