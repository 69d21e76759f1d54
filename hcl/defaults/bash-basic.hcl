# bash-basic runs Bash scripts and projects with the Bash of the host. For single command
# lines, shell-basic suffices.

template "bash-basic" {
  description = "Bash scripts with the programs of the host"

  # All settings that are missing here, such as files and environment, come from there.
  extends = "shell-basic"

  runtimes = ["bash"]
}
