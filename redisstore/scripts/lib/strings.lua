-- strings: functions of Lua's library string, which are found faster as locals.
local byte, find, match, sub = string.byte, string.find, string.match, string.sub
