print("never")

local x = = 2
