template "minimal" {}
