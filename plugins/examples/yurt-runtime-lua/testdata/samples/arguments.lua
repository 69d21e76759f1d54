for _, argument in ipairs({...}) do print(argument) end
