# Runs executions one after the other in one interpreter, which keeps its state:
#
#     R --file=kernel.R --args DIRECTORY
#
# It reads requests from the FIFO "requests" in the directory, a JSON object a line, whose members are
# strings and lists of strings. It writes responses to descriptor 3 in the same format, and a mark to
# descriptors 1 and 2: output before the mark belongs to that execution. SIGINT interrupts the running
# execution.

base_dir <- commandArgs(trailingOnly = TRUE)[1]
options(warn = 1, keep.source = FALSE, menu.graphics = FALSE)
setHook(packageEvent("tools", "onLoad"), function(...) tools::Rd2txt_options(underline_titles = FALSE)) # no backspaces for underlining in help

# decode_request reads the members of a request, each a string or a list of strings.
decode_request <- function(line) {
  found <- gregexpr("\"(?>[^\"\\\\]++|\\\\.)*+\"", line, perl = TRUE)[[1]]
  ends <- found + attr(found, "match.length")
  strings <- substring(line, found + 1L, ends - 2L)
  after <- substring(line, ends, ends)
  request <- list()
  i <- 1L
  while (i <= length(strings)) {
    to <- i + 1L
    if (strings[i] == "env") while (after[to] != "]") to <- to + 1L
    request[[strings[i]]] <- vapply(strings[seq(i + 1L, to)], decode_string, "", USE.NAMES = FALSE)
    i <- to + 1L
  }
  request
}

# decode_string replaces the escapes of a string, which are those of R.
decode_string <- function(text) {
  if (!grepl("\\", text, fixed = TRUE)) return(enc2utf8(text))
  text <- gsub("(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000", "\\1", text, perl = TRUE) # R has no NUL
  eval(parse(text = paste0("\"", text, "\""), keep.source = FALSE, encoding = "UTF-8"))
}

base64_digits <- strsplit("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", "")[[1]]

base64 <- function(bytes) {
  pad <- (3L - length(bytes) %% 3L) %% 3L
  n <- matrix(as.integer(c(bytes, raw(pad))), 3L)
  digits <- rbind(n[1, ] %/% 4L, n[1, ] %% 4L * 16L + n[2, ] %/% 16L, n[2, ] %% 16L * 4L + n[3, ] %/% 64L, n[3, ] %% 64L)
  text <- base64_digits[digits + 1L]
  if (pad > 0L) text[length(text) - seq_len(pad) + 1L] <- "="
  paste(text, collapse = "")
}

unbase64 <- function(text) {
  digits <- match(strsplit(gsub("=", "A", text, fixed = TRUE), "")[[1]], base64_digits) - 1L
  n <- matrix(digits, 4L)
  bytes <- as.raw(rbind(n[1, ] * 4L + n[2, ] %/% 16L, n[2, ] %% 16L * 16L + n[3, ] %/% 4L, n[3, ] %% 4L * 64L + n[4, ]))
  utils::head(bytes, length(bytes) - nchar(gsub("[^=]", "", text)))
}

kernel <- new.env()
kernel$control <- file("/proc/self/fd/3", "w", raw = TRUE)
kernel$current <- ""
kernel$answer <- NULL
kernel$count <- 0L
kernel$stdin <- NULL
kernel$plots <- tempfile("plots")

say <- function(line) {
  writeLines(line, kernel$control, useBytes = TRUE)
  flush(kernel$control)
}

reply <- function() {
  mark <- paste0("\036yurt:", kernel$current, "\036")
  cat(mark, file = base::stdout())
  flush(base::stdout())
  cat(mark, file = base::stderr())
  say(kernel$answer)
}

finish <- function(code, envelope) {
  kernel$answer <- paste0("{\"id\":", text_json(kernel$current), ",\"done\":{\"exit_code\":", as.integer(code) %% 256L, ",\"execution_count\":", kernel$count, ",\"envelope\":", envelope, "}}")
  reply()
}

display <- function(data, main) {
  fields <- paste0(vapply(names(data), text_json, ""), ":", vapply(data, text_json, ""), collapse = ",")
  say(paste0("{\"id\":", text_json(kernel$current), ",\"display\":{\"data\":{", fields, "}", if (main) ",\"main\":true", "}}"))
}

table_html <- function(frame) {
  frame <- utils::head(frame, 60L)
  escape <- function(text) gsub("<", "&lt;", gsub("&", "&amp;", text, fixed = TRUE), fixed = TRUE)
  row <- function(tag, cells) paste0("<tr>", paste0("<", tag, ">", escape(cells), "</", tag, ">", collapse = ""), "</tr>")
  cells <- vapply(frame, function(column) format(column), character(nrow(frame)))
  cells <- matrix(cells, nrow(frame))
  body <- vapply(seq_len(nrow(frame)), function(i) row("td", c(rownames(frame)[i], cells[i, ])), "")
  paste0("<table><thead>", row("th", c("", names(frame))), "</thead><tbody>", paste(body, collapse = ""), "</tbody></table>")
}

# show_value prints a visible value; the last one of a cell is its result.
show_value <- function(value, last) {
  if (!last) return(print_value(value))
  text <- paste(utils::capture.output(print_value(value)), collapse = "\n")
  if (text == "") return(invisible())
  data <- list("text/plain" = substr(text, 1, limits$text))
  if (is.data.frame(value) && length(value) > 0L) data[["text/html"]] <- tryCatch(table_html(value), error = function(e) NULL)
  display(data, TRUE)
}

# Plots are written to files, which are shown when the execution ends.
open_device <- function(...) {
  dir.create(kernel$plots, showWarnings = FALSE)
  grDevices::png(file.path(kernel$plots, paste0("plot", length(dir(kernel$plots)) + 1L, "-%03d.png")), 672, 480, res = 96, type = "cairo")
}

show_plots <- function() {
  grDevices::graphics.off()
  files <- list.files(kernel$plots, full.names = TRUE)
  for (file in utils::head(files, limits$plots)) {
    bytes <- readBin(file, raw(), file.size(file))
    if (length(bytes) > 0L) display(list("image/png" = base64(bytes)), FALSE)
  }
  unlink(files)
}

leave <- function(save = "default", status = 0, runLast = TRUE) invokeRestart("yurt_quit", status)

mask <- attach(NULL, name = "yurt")
local({
  stdin_of_cell <- function() kernel$stdin
  source_of <- function(con) if (is.character(con) && length(con) == 1L && con %in% c("stdin", "/dev/stdin")) kernel$stdin else con
  assign("stdin", stdin_of_cell, mask)
  assign("file", function(description = "", ...) if (identical(description, "stdin")) kernel$stdin else base::file(description, ...), mask)
  assign("readLines", function(con = kernel$stdin, ...) base::readLines(source_of(con), ...), mask)
  assign("scan", function(file = kernel$stdin, ..., quiet = TRUE) base::scan(source_of(file), ..., quiet = quiet), mask)
  assign("readline", function(prompt = "") {
    cat(prompt)
    line <- base::readLines(kernel$stdin, 1L, warn = FALSE)
    if (length(line)) line else ""
  }, mask)
  assign("quit", leave, mask)
  assign("q", leave, mask)
  assign("commandArgs", function(trailingOnly = FALSE) if (trailingOnly) character() else "R", mask)
})
options(device = open_device)

set_environment <- function(items) {
  names <- sub("=.*", "", items)
  before <- Sys.getenv(names, unset = NA, names = TRUE)
  if (length(names)) do.call(Sys.setenv, as.list(stats::setNames(sub("^[^=]*=", "", items), names)))
  function() {
    gone <- names(before)[is.na(before)]
    if (length(gone)) Sys.unsetenv(gone)
    kept <- before[!is.na(before)]
    if (length(kept)) do.call(Sys.setenv, as.list(kept))
  }
}

run_cell <- function(request) {
  kernel$count <- kernel$count + 1L
  if (!is.null(request$cwd)) tryCatch(setwd(request$cwd), error = function(e) cat("yurt: the working directory stays ", getwd(), "\n", sep = "", file = base::stderr()))
  input <- if (is.null(request$stdin)) raw() else unbase64(request$stdin)
  if (length(input) && utils::tail(input, 1L) != 10L) input <- c(input, as.raw(10L)) # reading it would else warn
  kernel$stdin <- rawConnection(input)
  on.exit(close(kernel$stdin))
  restore <- set_environment(request$env)
  on.exit(restore(), add = TRUE)
  code <- if (is.null(request$code)) "" else request$code
  program <- tryCatch(read_program(code, paste0("<cell ", kernel$count, ">")), error = identity)
  outcome <- withRestarts(
    if (inherits(program, "error")) refuse_program(program) else run_program(program, show_value),
    yurt_quit = function(status) list(left = status),
    abort = function() list(type = "Error", message = "the code invoked the restart \"abort\"", stack = character(), exit = 1L)
  )
  if (!is.null(outcome$visible)) assign(".Last.value", outcome$value, mask)
  while (sink.number() > 0L) sink() # left by capture.output after an error
  tryCatch(show_plots(), error = function(e) NULL)
  outcome
}

answer_request <- function(line) {
  request <- decode_request(line)
  if (!is.null(request$file)) request <- decode_request(readChar(request$file, file.size(request$file), useBytes = TRUE))
  if (request$id == kernel$current) {
    if (!is.null(kernel$answer)) reply() # the host has restarted and lost it
    return()
  }
  kernel$current <- request$id
  kernel$answer <- NULL
  outcome <- run_cell(request)
  if (!is.null(outcome$left)) return(finish(outcome$left, "{\"result\":null}"))
  if (is.null(outcome$type)) finish(0L, value_envelope(outcome)) else finish(outcome$exit, error_envelope(outcome$type, outcome$message, outcome$stack))
}

serve <- function() {
  open <- function() fifo(file.path(base_dir, "requests"), "r", blocking = TRUE)
  requests <- open()
  repeat {
    line <- tryCatch(readLines(requests, 1L, warn = FALSE, encoding = "UTF-8"), interrupt = function(e) NULL)
    if (is.null(line)) next
    if (length(line) == 0L) { # the host has gone: opening waits for it
      close(requests)
      requests <- open()
      next
    }
    tryCatch(answer_request(line), interrupt = function(e) {
      if (is.null(kernel$answer)) finish(130L, error_envelope("KeyboardInterrupt", ""))
    })
  }
}

serve()
