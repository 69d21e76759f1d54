// Package descriptor has operations on file descriptors that several packages share.
package descriptor

import "os"

// CloseAll closes the files.
func CloseAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}
