writeLines(commandArgs(trailingOnly = TRUE))
