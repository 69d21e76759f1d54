writeLines(toupper(readLines(file("stdin"))))
