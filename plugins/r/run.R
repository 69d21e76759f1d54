# Runs one program: R --file=run.R --args NAME FILE ARGUMENT…
given <- commandArgs(trailingOnly = TRUE)
options(warn = 1, keep.source = FALSE)
local({
  control <- file("/proc/self/fd/3", "w", raw = TRUE)
  answer <- function(outcome) {
    writeLines(if (is.null(outcome$type)) value_envelope(outcome) else error_envelope(outcome$type, outcome$message, outcome$stack), control)
    close(control)
  }
  # R's own function would also return the arguments of this program.
  all <- commandArgs()
  arguments <- given[-(1:2)]
  mask <- attach(NULL, name = "yurt")
  assign("commandArgs", function(trailingOnly = FALSE) if (trailingOnly) arguments else c(all[1], "--args", arguments), mask)
  leave <- function(save = "default", status = 0, runLast = TRUE) {
    try(writeLines("{\"result\":null}", control), silent = TRUE)
    try(close(control), silent = TRUE)
    base::quit("no", status, runLast)
  }
  assign("quit", leave, mask)
  assign("q", leave, mask)
  code <- paste(readLines(given[2], warn = FALSE, encoding = "UTF-8"), collapse = "\n")
  program <- tryCatch(read_program(code, given[1]), error = identity)
  outcome <- if (inherits(program, "error")) refuse_program(program) else run_program(program, function(value, last) print_value(value))
  answer(outcome)
  base::quit("no", if (is.null(outcome$exit)) 0L else outcome$exit, TRUE)
})
