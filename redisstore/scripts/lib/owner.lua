-- owner: the owner that has declared a schedule, as …:owners stores it: "<owner> <version>". A version is a whole number of up to 63 bits, more
-- than a number of Lua holds: it is compared as text.

-- version_of returns the version of a record if it is this owner's, else nil.
local function version_of(record, owner)
  local name, version = string.match(record or '', '^(%S+) (%d+)$')
  return name == owner and version or nil
end

-- is_lower reports whether the version a is lower than b.
local function is_lower(a, b)
  return #a < #b or #a == #b and a < b
end
