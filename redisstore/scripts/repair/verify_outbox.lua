-- verify_outbox.lua: find, a page at a time, faults of an outbox that no script leaves behind, and repair them if requested.
-- KEYS[1] …:state      hash  layout, outbox, large
-- KEYS[2] …:outbox     zset  entries that wait, see lib/outbox.lua
-- KEYS[3] …:outgoing   hash  "<queue>\t<job ID>" -> value of an entry; "<queue>\t<job ID>\tb" -> the batch of which it is a member
-- KEYS[4] …:delivered  zset  entries that were carried
-- KEYS[5] …:carried    hash  target -> what it has taken
-- KEYS[6] …:jobs       hash  job ID -> envelope
-- KEYS[7] …:dead       zset  job ID -> instant of its death, Unix ms
-- ARGV[1] 1: repair; ARGV[2] what is verified, in this order:
--   outbox, delivered  their entries. Those without a value are removed. A waiting one with a value that no version can read holds up its line, and becomes a
--                      dead job of this queue. The batch of an entry that is removed is removed too
--   sums               the field outbox of state, which is computed again; and how many fields of outgoing belong to no entry
--   carried            a number that is higher than the last drawn one: that is raised. A line that is blocked is only reported
-- ARGV[3] the position in the list, as the last call answered; empty: the beginning. For sums: the field as it was before and after the entries were read,
-- and a tab, bytes of those that wait, a tab, bytes of those that were carried, a tab, how many entries are members of a batch; empty: it has changed
-- meanwhile, and neither the bytes nor the fields of outgoing are compared
-- Returns the new position, empty at the end; the field outbox before and after the call; the bytes of the entries of this page that remain; how many of
-- these are members of a batch; for each fault three values: its ID (a job, a target, or the field), 1 if it was repaired, else 0, and "unreadable" for a
-- value that cannot be read, why a line is blocked, else empty.
local STATE, OUTBOX, OUTGOING, DELIVERED, CARRIED, JOBS, DEAD = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
local repairs, what, at = ARGV[1] == '1', ARGV[2], ARGV[3]
-- uses: limits clock layout strings outbox
local state = redis.call('HMGET', STATE, 'layout', 'outbox')
local refusal = newer(state[1])
if refusal then return refusal end
local n_waiting, n_kept, n_values = redis.call('ZCARD', OUTBOX), redis.call('ZCARD', DELIVERED), redis.call('HLEN', OUTGOING)
redis.call('HLEN', JOBS)
redis.call('ZCARD', DEAD)
local box = read_outbox(state[2])
local faults, position, page_bytes, page_members = {}, '', 0, 0 -- three values for each fault, as they are returned
local function add_fault(id, repaired, why)
  local n = #faults
  faults[n + 1], faults[n + 2], faults[n + 3] = id, repaired and 1 or 0, why or ''
end

local before, changed = state[2] or '', false -- changed: box is to be written
local out, aside = {}, {} -- members that leave; of these, those with values that cannot be read: queue and ID, and the value
local batches = {} -- the fields of the batches of the page's entries
if what == 'sums' then
  local read, bytes, kept, in_batches = match(at, '^(.*)\t(%d+)\t(%d+)\t(%d+)$')
  local compares = read == before
  changed = box.odd or n_waiting + n_kept > 0 and not state[2] or box.waiting ~= n_waiting or
    compares and (box.bytes ~= tonumber(bytes) or box.kept ~= tonumber(kept))
  if changed then
    add_fault('outbox', repairs)
    box.waiting = n_waiting
    if n_waiting == 0 then
      box.bytes, box.since = 0, 0
    elseif box.since == 0 then
      box.since = 1 -- the next call that carries an entry computes it
    end
    if n_kept == 0 then box.kept = 0 end
    if compares then box.bytes, box.kept = tonumber(bytes), tonumber(kept) end
  end
  local more = compares and n_values - n_waiting - n_kept - tonumber(in_batches) or 0
  if more > 0 then add_fault('values ' .. whole(more), false) end
elseif what == 'carried' then
  local page = redis.call('HSCAN', CARRIED, at == '' and '0' or at, 'COUNT', 100)
  if page[1] ~= '0' then position = page[1] end
  for i = 1, #page[2], 2 do
    local line, why = match(page[2][i], '^!(.*)$'), match(page[2][i + 1], '^%d+ %d+ (.*)$')
    local high = not line and sum_of(match(page[2][i + 1], '^(%d+) ')) or 0
    if line and why then
      local waits = redis.call('ZRANGEBYLEX', OUTBOX, '[' .. line .. '\t', '(' .. line .. '\n', 'LIMIT', '0', '1')[1]
      if waits then add_fault(line, false, 'blocked ' .. why) end
    elseif high > box.sent then
      add_fault(page[2][i], repairs)
      box.sent, changed = high, true
    end
  end
else
  local members, read = {}, 0 -- read: bytes
  local from = at == '' and '-' or '(' .. at
  if what == 'outbox' then
    members = redis.call('ZRANGEBYLEX', OUTBOX, from, '+', 'LIMIT', '0', '100')
  else
    members = redis.call('ZRANGEBYLEX', DELIVERED, from, '+', 'LIMIT', '0', '100')
  end
  for _, member in ipairs(members) do
    local line, _, _, size, id = entry_of(member)
    local field = line and queue_of(line) .. '\t' .. id
    position, page_bytes = member, page_bytes + (size or 0)
    if line then batches[#batches + 1] = field .. '\tb' end
    if not line or redis.call('HEXISTS', OUTGOING, field) == 0 then
      add_fault(id or member, repairs)
      out[#out + 1] = member
    elseif what == 'outbox' then
      local value = redis.call('HGET', OUTGOING, field)
      if not is_readable(value) then
        local free = redis.call('HEXISTS', JOBS, id) == 0
        add_fault(id, repairs and free, 'unreadable')
        if free then out[#out + 1], aside[#aside + 1] = member, { field = field, id = id, value = value } end
      end
      read = read + #value
      if read > CALL_BYTES then break end
    end
  end
  if position == (members[#members] or '') and #members < 100 then position = '' end
  if #batches > 0 then
    for _, batch in ipairs(redis.call('HMGET', OUTGOING, unpack(batches))) do
      if batch then page_members = page_members + 1 end
    end
  end
end

if repairs and #out > 0 then
  if what == 'outbox' then redis.call('ZREM', OUTBOX, unpack(out)) else redis.call('ZREM', DELIVERED, unpack(out)) end
  for _, job in ipairs(aside) do
    redis.call('HDEL', OUTGOING, job.field)
    redis.call('HSET', JOBS, job.id, job.value)
    redis.call('ZADD', DEAD, whole(now_ms), job.id)
    if #job.value > LARGE_BYTES then redis.call('HSETNX', STATE, 'large', '1') end -- takes must read lengths first
  end
  local bytes = 0
  for _, member in ipairs(out) do
    local line, _, _, size, id = entry_of(member)
    bytes = bytes + (size or 0)
    if line then page_members = page_members - redis.call('HDEL', OUTGOING, queue_of(line) .. '\t' .. id .. '\tb') end
  end
  page_bytes = page_bytes - bytes
  if what == 'outbox' then
    box.waiting, box.bytes = n_waiting - #out, box.bytes - bytes
  else
    box.kept = box.kept - bytes
  end
  changed = state[2] and not box.odd
end
if repairs and changed then
  state[2] = outbox_text(box)
  redis.call('HSET', STATE, 'outbox', state[2])
end
local answer = { position, before, state[2] or '', page_bytes, page_members }
for _, value in ipairs(faults) do answer[#answer + 1] = value end
return answer
