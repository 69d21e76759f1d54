cat("grüße 🏕\n")
