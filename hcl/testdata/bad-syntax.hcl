template "syntax" {
  description = "not closed
  runtimes = ["python"]
}
