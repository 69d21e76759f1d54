cat("before\n")

stop("boom")
