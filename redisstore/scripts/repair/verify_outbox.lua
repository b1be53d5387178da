-- verify_outbox.lua: find, a page at a time, faults of an outbox that no script leaves behind, and repair them if requested.
-- KEYS[1] …:state      hash  layout, outbox
-- KEYS[2] …:outbox     zset  entries that wait, see lib/outbox.lua
-- KEYS[3] …:outgoing   hash  "<queue>\t<job ID>" -> value of an entry
-- KEYS[4] …:delivered  zset  entries that were carried
-- KEYS[5] …:carried    hash  target -> what it has taken
-- ARGV[1] 1: repair; ARGV[2] outbox or delivered: their entries without a value are removed; sums: the field outbox of state, which is computed again;
-- carried: a number that is higher than the last drawn one: that is raised; ARGV[3] the position in the list, as the last call answered; 0 begins
-- Returns the new position, 0 at the end; for each fault its ID: a job, a target, or the field; and if it was repaired 1, else 0.
local STATE, OUTBOX, OUTGOING, DELIVERED, CARRIED = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local repairs, what, at = ARGV[1] == '1', ARGV[2], ARGV[3]
-- uses: limits layout
local state = redis.call('HMGET', STATE, 'layout', 'outbox')
local refusal = newer(state[1])
if refusal then return refusal end
local n_waiting, n_kept, n_values = redis.call('ZCARD', OUTBOX), redis.call('ZCARD', DELIVERED), redis.call('HLEN', OUTGOING)
local sent, waiting, bytes, since, kept = string.match(state[2] or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
local page, faults, out, text = { '0', {} }, {}, {}, nil
if what == 'sums' then
  if n_waiting + n_kept > 0 and not sent or state[2] and not sent or sent and tonumber(waiting) ~= n_waiting then
    faults[1] = 'outbox'
    -- the next call that carries an entry computes the others
    text = string.format('%s %d %s %s %s', sent or '0', n_waiting, n_waiting > 0 and bytes or '0', n_waiting > 0 and (since or '1') or '0', n_kept > 0 and kept or '0')
  end
  if n_values > n_waiting + n_kept then faults[#faults + 1] = 'values ' .. string.format('%d', n_values - n_waiting - n_kept) end
elseif what == 'carried' then
  page = redis.call('HSCAN', CARRIED, at, 'COUNT', 100)
  for i = 1, #page[2], 2 do
    local high = tonumber(string.match(page[2][i + 1], '^(%d+) ') or 0)
    if high > tonumber(sent or 0) and high < 9e15 then
      faults[#faults + 1], sent = page[2][i], string.format('%d', high)
      text = sent .. ' ' .. (waiting or string.format('%d', n_waiting)) .. ' ' .. (bytes or '0') .. ' ' .. (since or '0') .. ' ' .. (kept or '0')
    end
  end
else
  local members = {}
  if what == 'outbox' then
    page = redis.call('ZSCAN', OUTBOX, at, 'COUNT', MAX_ITEMS)
  else
    page = redis.call('ZSCAN', DELIVERED, at, 'COUNT', MAX_ITEMS)
  end
  for i = 1, #page[2], 2 do
    local queue, id = string.match(page[2][i], '^([^/\t]*)/?%d*\t%d+\t%d+ %d+\t(.*)$')
    if not queue or redis.call('HEXISTS', OUTGOING, queue .. '\t' .. id) == 0 then
      faults[#faults + 1], out[#out + 1] = id or page[2][i], page[2][i]
    end
  end
end
if repairs and #out > 0 then
  if what == 'outbox' then
    redis.call('ZREM', OUTBOX, unpack(out))
    if sent then redis.call('HSET', STATE, 'outbox', string.format('%s %d %s %s %s', sent, n_waiting - #out, bytes, since, kept)) end
  else
    redis.call('ZREM', DELIVERED, unpack(out))
  end
elseif repairs and text then
  redis.call('HSET', STATE, 'outbox', text)
end
local answer = { page[1] }
for _, id in ipairs(faults) do
  answer[#answer + 1] = id
  answer[#answer + 1] = repairs and string.sub(id, 1, 7) ~= 'values ' and 1 or 0
end
return answer
