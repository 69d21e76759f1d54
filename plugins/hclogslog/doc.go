// Package hclogslog lets libraries that log with hclog write to a [slog.Logger].
//
// go-plugin demands an hclog.Logger; the rest of Yurt logs with slog. [New] is the seam: every
// record keeps its level, its key-value pairs and its name (as the attribute "logger"), and the
// slog handler alone filters the records. hclog's TRACE, which slog lacks, is [LevelTrace]. Loggers
// are safe for concurrent use as far as their handler is.
package hclogslog
