label <- function(word) paste("lib:", word)
