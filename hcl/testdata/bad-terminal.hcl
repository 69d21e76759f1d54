template "t" {
	colour	= "世界 [31mred" # ‮idib
	description = "世界" + [1]
}
