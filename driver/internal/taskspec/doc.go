// Package taskspec translates a task of Nomad into a sandbox and an execution, or into a slot: the config block, the template, the
// resources, the mounts, the network, the names and the user. Each setting takes effect or is refused. The operator's plugin block
// bounds what a task may ask for. The package makes no call to the executor.
package taskspec
