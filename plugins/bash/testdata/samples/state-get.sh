echo "$answer"
