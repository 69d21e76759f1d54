// Package procview makes the files that a sandbox reads in the place of some files of /proc. The kernel's own files have figures of
// the whole host: its load, its memory, its counters. A sandbox that reads them sees its neighbours work.
//
// The files have the form that programs parse, with the labels of this kernel. Figures are those of the sandbox's limits, or 0.
package procview
