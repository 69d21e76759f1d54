print("before")
local function fail()
  error("boom")
end
fail()
