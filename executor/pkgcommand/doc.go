// Package pkgcommand is the command that sessions run as pip, pip3, uv and npm. It asks the node
// for the packages of "pip install", "uv pip install" and "npm install", and prints the
// answers. For all other command lines it becomes the real package manager.
//
// It is part of yurt-init's binary, since that is in every sandbox anyway, and takes its name
// from the link by which it is started. It runs as the user's code, with no rights of its own.
package pkgcommand
