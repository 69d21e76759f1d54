source("src/lib.r")
for (word in commandArgs(trailingOnly = TRUE)) cat(label(word), "\n", sep = "")
