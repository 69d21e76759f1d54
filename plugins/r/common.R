# The common part of fresh runs and contexts: JSON, errors, and the evaluation of a program.
# The names of this file are in a separate environment, so that rm(list = ls()) removes only the user's.

limits <- list(text = 1e6, result = 8e6, elements = 1e5, depth = 32L, frames = 200L, plots = 64L)

# text_json writes a string as JSON.
text_json <- function(text) {
  text <- enc2utf8(as.character(text)[1])
  if (is.na(text)) return("null")
  if (!validUTF8(text)) text <- iconv(text, "UTF-8", "UTF-8", sub = "?")
  text <- gsub("\\", "\\\\", text, fixed = TRUE)
  text <- gsub("\"", "\\\"", text, fixed = TRUE)
  for (code in unique(utf8ToInt(paste(regmatches(text, gregexpr("[\001-\037\177]", text))[[1]], collapse = "")))) {
    text <- gsub(intToUtf8(code), sprintf("\\u%04x", code), text, fixed = TRUE)
  }
  paste0("\"", text, "\"")
}

# scalars_json writes each element of an atomic vector; NULL if one has no JSON.
scalars_json <- function(x) {
  if (is.factor(x)) x <- as.character(x)
  if (inherits(x, c("Date", "POSIXt", "difftime"))) x <- format(x)
  if (is.logical(x)) return(ifelse(is.na(x), "null", ifelse(x, "true", "false")))
  if (is.numeric(x)) return(ifelse(is.finite(x), vapply(x, function(n) format(n, digits = 15, scientific = NA, trim = TRUE), ""), "null"))
  if (is.character(x)) return(vapply(x, text_json, "", USE.NAMES = FALSE))
  NULL
}

# value_json writes a value as JSON; NULL if JSON cannot hold it exactly.
value_json <- function(x, depth = 0L) {
  if (is.null(x)) return("null")
  if (depth > limits$depth || length(x) > limits$elements || isS4(x)) return(NULL)
  if (is.data.frame(x)) return(rows_json(x, depth))
  if (is.array(x) || !(is.atomic(x) || is.list(x) && !is.object(x))) return(NULL)
  parts <- if (is.list(x)) lapply(x, value_json, depth + 1L) else scalars_json(x)
  if (length(parts) != length(x) || any(vapply(parts, is.null, NA))) return(NULL)
  if (!is.null(names(x))) {
    return(paste0("{", paste0(vapply(names(x), text_json, ""), ":", parts, collapse = ","), "}"))
  }
  if (is.atomic(x) && length(x) == 1L) return(parts[[1]])
  paste0("[", paste(parts, collapse = ","), "]")
}

# rows_json writes a data frame as an array with an object for each row.
rows_json <- function(frame, depth) {
  if (length(frame) == 0L || nrow(frame) == 0L) return("[]")
  if (as.numeric(nrow(frame)) * length(frame) > limits$elements) return(NULL)
  columns <- lapply(frame, function(column) if (is.atomic(column) && !is.array(column)) scalars_json(column))
  if (any(vapply(columns, is.null, NA))) return(NULL)
  fields <- Map(function(name, column) paste0(text_json(name), ":", column), names(frame), columns)
  paste0("[", paste0("{", do.call(paste, c(unname(fields), sep = ",")), "}", collapse = ","), "]")
}

# value_envelope is the envelope of a successful run.
value_envelope <- function(outcome) {
  json <- if (outcome$visible) tryCatch(value_json(outcome$value), error = function(e) NULL)
  if (is.null(json)) return("{\"result\":null}")
  if (nchar(json, "bytes") > limits$result) return("{\"result\":null,\"cut\":true}")
  paste0("{\"result\":", json, "}")
}

error_envelope <- function(type, message, stack = character()) {
  paste0("{\"error\":{\"type\":", text_json(type), ",\"message\":", text_json(substr(message, 1, 16000)),
    ",\"stacktrace\":[", paste(vapply(utils::head(stack, limits$frames), text_json, ""), collapse = ","), "]}}")
}

# read_program parses code; errors refer to it by name.
read_program <- function(code, name) {
  lines <- strsplit(code, "\n", fixed = TRUE)[[1]]
  parse(text = lines, srcfile = srcfilecopy(name, lines), keep.source = TRUE)
}

# place is the start of a call or an expression in the user's code, such as "main.R:3".
place <- function(reference) {
  file <- attr(reference, "srcfile")
  if (is.null(file)) return(NULL)
  paste0(basename(file$filename), ":", reference[1])
}

shorten <- function(call) {
  text <- paste(deparse(call, nlines = 1L), collapse = " ")
  if (nchar(text) > 200) paste0(substr(text, 1, 200), "\u2026") else text
}

# frames_of lists the user's calls, the outermost first: those between the evaluation of the program and the
# handler of the error.
frames_of <- function(calls, expression, reference, handler) {
  from <- which(vapply(calls, function(call) identical(call[[1]], quote(yurt_eval)), NA))
  calls <- if (length(from)) calls[-seq_len(max(from) + 3L)] else list() # withVisible has one frame, eval two
  if (length(calls) && identical(calls[[1]], expression)) calls <- calls[-1L]
  last <- which(vapply(calls, function(call) {
    is.symbol(call[[1]]) && as.character(call[[1]]) %in% c("stop", ".handleSimpleError", "abort") || identical(call[[1]], handler)
  }, NA))
  if (length(last)) calls <- calls[seq_len(min(last) - 1L)]
  lines <- vapply(calls, function(call) {
    at <- place(attr(call, "srcref"))
    paste0(shorten(call), if (!is.null(at)) paste0(" (", at, ")"))
  }, "")
  at <- place(reference)
  c(paste0(shorten(expression), if (!is.null(at)) paste0(" (", at, ")")), lines)
}

yurt_eval <- function(expression) withVisible(eval(expression, globalenv()))
top_level <- quote(eval(expression, globalenv())) # the call in conditions of top-level code

# run_program evaluates a program in the global environment as R's top level does.
# show gets each visible value, and whether it is the last. The outcome has value and visible, or type, message and stack.
run_program <- function(program, show) {
  references <- attr(program, "srcref")
  outcome <- list(value = NULL, visible = FALSE)
  for (i in seq_along(program)) {
    stack <- character()
    note <- function(e) stack <<- frames_of(sys.calls(), program[[i]], references[[i]], note)
    failed <- tryCatch(
      withCallingHandlers({
        outcome <- yurt_eval(program[[i]])
        if (outcome$visible) show(outcome$value, i == length(program))
        NULL
      }, error = note, warning = warn_plainly),
      error = function(e) e, interrupt = function(e) e)
    if (!is.null(failed)) return(explain(failed, stack, references[[i]]))
  }
  outcome
}

# warn_plainly removes Yurt's own call from a warning of top-level code.
warn_plainly <- function(condition) {
  if (!identical(conditionCall(condition), top_level) || getOption("warn") != 1) return()
  cat("Warning: ", conditionMessage(condition), "\n", sep = "", file = stderr())
  invokeRestart("muffleWarning")
}

explain <- function(condition, stack, reference) {
  if (inherits(condition, "interrupt")) return(list(type = "KeyboardInterrupt", message = "", stack = character(), exit = 130L))
  message <- conditionMessage(condition)
  call <- conditionCall(condition)
  where <- if (is.null(call) || identical(call, top_level)) "Error: " else paste0("Error in ", shorten(call), " : ")
  cat(where, message, "\n", sep = "", file = stderr())
  type <- class(condition)[1]
  if (length(stack) == 0L) { # R's stack was full
    at <- place(reference)
    if (!is.null(at)) stack <- at
  }
  list(type = if (type == "simpleError") "Error" else type, message = message, stack = stack, exit = 1L)
}

# refuse_program is the outcome of code that cannot be parsed.
refuse_program <- function(condition) {
  message <- conditionMessage(condition)
  cat("Error: ", message, "\n", sep = "", file = stderr())
  first <- sub("\n.*", "", message)
  list(type = "CompileError", message = first, stack = first, exit = 1L)
}

# print_value prints a value, by the user's methods if they exist.
print_value <- function(value) {
  if (isS4(value)) methods::show(value) else eval(as.call(list(print, quote(value))), list(value = value), globalenv())
}
