-- copies.lua: read what a partition has of some schedules: a definition, the mark of a move, or nothing.
-- KEYS[1] …:schedules  hash  schedule -> definition
-- KEYS[2] …:gone       zset  schedule that lived here -> when it left or was deleted, Unix us
-- KEYS[3] …:owners     hash  schedule -> its owner, see lib/owner.lua
-- ARGV names, at most 100
-- Returns seven values for each: "definition", "mark", "unreadable" or empty; its generation; its revision; when it was created; the queue to
-- which it moves or has moved (empty: it does not); the last generation that is gone here, else 0; its owner (empty: none).
-- uses: definition
local texts = redis.call('HMGET', KEYS[1], unpack(ARGV))
local gone = redis.call('ZMSCORE', KEYS[2], unpack(ARGV))
local owners = redis.call('HMGET', KEYS[3], unpack(ARGV))
local answer = {}
for i = 1, #ARGV do
  local h = head(texts[i])
  local to = h and string.match(h.state, '^moved to (%S+)') or ''
  local kind = h and (to ~= '' and 'mark' or 'definition') or texts[i] and 'unreadable' or ''
  for _, value in ipairs({ kind, h and h.generation or '0', h and h.revision or '0', h and h.created or '', to,
    string.format('%.0f', tonumber(gone[i] or 0)), owners[i] or '' }) do
    answer[#answer + 1] = value
  end
end
return answer
