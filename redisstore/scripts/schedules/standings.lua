-- standings.lua: read the revisions of schedules.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- ARGV names
-- Returns three values for each: its revision (0 if it is not here, -1 if it is moving, or has moved, to another queue, -2 if it cannot be
-- read); its generation, else empty; that queue if it is moving or has moved, else empty.
-- uses: definition
local answer = {}
for _, text in ipairs(redis.call('HMGET', KEYS[1], unpack(ARGV))) do
  local h = head(text)
  answer[#answer + 1] = h and (is_mark(h.state) and '-1' or h.revision) or text and '-2' or '0'
  answer[#answer + 1] = h and h.generation or ''
  answer[#answer + 1] = h and string.match(h.state, '^moved to (%S+)') or ''
end
return answer
