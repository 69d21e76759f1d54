// Package rundir has the runtime directory of an executor, for files that do not outlive the boot, as no sandbox does: best in
// memory, where files cost least to make.
//
// It is named after the executor, so that no two share one under any base, and the state directory has a link to it.
package rundir
