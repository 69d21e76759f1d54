// Package imagefiles opens the files of the operator's that images come from: directories in the OCI layout, and the credentials for
// registries. [Requests] name a layout and a blob of it by its digest, and get open files in return, which their caller may not be able to
// open itself.
//
// [Files] carries the requests out in this process. It opens only files that the operator allows: a regular file with the name of an index or
// of a blob, in a directory below one of those that the configuration names, past no link.
package imagefiles
