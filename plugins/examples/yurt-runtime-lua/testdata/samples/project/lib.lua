return { say = function(text) print("lib: " .. text) end }
