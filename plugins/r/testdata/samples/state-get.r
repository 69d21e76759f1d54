cat(answer, "\n", sep = "")
