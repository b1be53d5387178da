-- lead.lua: acquire or renew the leader's lease. A repeated call finds the same leader and the same term.
-- KEYS[1] …:leader  hash  id, term, until (Unix ms), epoch (the first leader and its instant; it changes if the data was lost)
-- ARGV[1] candidate; ARGV[2] how long the lease lasts, ms; ARGV[3] 1: the last call failed because the server is out of memory
-- Returns 1 if the candidate leads, else 0; leader; term; how long the lease still lasts, ms; epoch.
local ttl_ms = tonumber(ARGV[2])
local stored = redis.call('HMGET', KEYS[1], 'id', 'term', 'until', 'epoch')
-- uses: clock
-- number reads what this script wrote; any other value, edited by hand, is 0: no term and no lease.
local function number(text)
  return tonumber(string.match(text or '', '^%d+$') and #text <= 15 and text or 0)
end
local leader, term, lapse = stored[1], number(stored[2]), number(stored[3])
if lapse > now_ms + 10 * ttl_ms then lapse = 0 end -- the clock stepped back
if leader and leader ~= ARGV[1] and lapse > now_ms then
  return { 0, leader, whole(term), whole(lapse - now_ms), stored[4] or '' }
end
if leader ~= ARGV[1] or lapse <= now_ms then term = term + 1 end
local epoch = stored[4] or ARGV[1] .. ' ' .. whole(now_us)
if ARGV[3] == '1' then redis.call('HDEL', KEYS[1], '') end -- lets the next write pass
-- grows first: if memory is out this is refused, and the candidate calls again with ARGV[3] 1: then the line above makes this write possible
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'term', whole(term), 'until', whole(now_ms + ttl_ms), 'epoch', epoch)
return { 1, ARGV[1], whole(term), whole(ttl_ms), epoch }
