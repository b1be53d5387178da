-- standings.lua: read the revisions of schedules.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- ARGV names
-- Returns the revision of each: 0 if it is not here, -1 if it is moving, or has moved, to another queue, -2 if it cannot be read.
-- uses: definition
local answer = redis.call('HMGET', KEYS[1], unpack(ARGV))
for i = 1, #answer do
  local h = head(answer[i])
  answer[i] = h and (is_mark(h.state) and '-1' or h.revision) or answer[i] and '-2' or '0'
end
return answer
