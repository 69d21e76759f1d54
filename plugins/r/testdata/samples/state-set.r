answer <- 42
