# typescript-basic runs TypeScript with the Node and the esbuild of the
# host, in /usr or /usr/local. Commands work in it too.

template "typescript-basic" {
  description = "TypeScript code and handlers with the Node and the esbuild of the host"

  # All settings that are missing here, such as files and environment, come from there.
  extends = "shell-basic"

  runtimes = ["typescript"]
}
