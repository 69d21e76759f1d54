cat("begun\n")
repeat {}
