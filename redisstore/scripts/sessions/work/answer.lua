-- answer: the jobs that are left, the workers woken for them, and the answer. A section of work.lua.

------------------------------------------------------------------------------------------------------ what is left, and when

if followers then ready_left = nil end
if long or #due_out > 0 or later or sifted or state[11] or grouped then
  next_ms = head_due(DUE, KEYS[34], state[11] or grouped)
  if long or #due_out > 0 or later or sifted or grouped and (grouped.fronted or grouped.cut) then ready_left = nil end
end
local more, place = false, 0
if not paused and (not sleeps_on or cancels or grouped and grouped.opened) then
  more = next_ms >= 0 and next_ms <= now_ms or (ready_left and ready_left > 0 or not ready_left and is_waiting(READY, KEYS[31], state[11] or grouped)) or
    grouped and grouped.w > 0 or false
end
local opened = false -- the limit was reached, or is now
if limit and not paused then
  if sleeps_on then next_ms = head_due(DUE, KEYS[34], state[11] or grouped) end
  -- read after write: a call of a sleeping worker has read neither list
  next_ms = horizon(limit, next_ms, is_waiting(READY, KEYS[31], state[11] or grouped))
  more, opened = next_ms == now_ms, limit.was ~= limit.state or limit.stepped
end
local asleep = sleep and not more and n_taken < slots -- a worker that got as many jobs as it requested has no free slot
if asleep then redis.call('ZADD', IDLE, now_text, worker) end
if more then
  -- uses: gate wake
  wake_one(IDLE, wake)
end
-- cancels: a job that followed an ended one may be the only one in ready, and the caller may sleep already
if not more and not paused and next_ms >= 0 and (asleep or was_asleep or opened or cancels or grouped and grouped.alarmed or long and next_ms == call.soonest) then
  -- uses: alarm
  place = keep_alarm(IDLE, wake, next_ms, asleep and worker)
end
if place == 0 or paused then next_ms = -1 end
if (#wakes > 0 or #more_parked > 0) and not paused and not again and not (limit and limit.state > 1) then
  -- uses: handlers
  for _, position in ipairs(wakes) do wake_handler(handlers[position], IDLE, wake) end
  for _, i in ipairs(more_parked) do
    -- read after write: waking comes last
    wake_handler(redis.call('HGET', KEYS[19], ARGV[at_serve + i]), IDLE, wake)
  end
end

------------------------------------------------------------------------------------------------------------------- answer

-- IDs of one length, as most are, are sent as one string.
local length = n_taken > 0 and #taken[1]
for i = 2, n_taken do
  if #taken[i] ~= length then length = nil end
end
local superseded = {}
for id in pairs(call and call.superseded or {}) do superseded[#superseded + 1] = id end
local parked_since -- of the jobs taken that were parked
if since then
  parked_since = {}
  for i = 1, n_taken do
    if since[taken[i]] then
      parked_since[#parked_since + 1] = i
      parked_since[#parked_since + 1] = since[taken[i]]
    end
  end
end
local skipped, letters = call and call.skipped, many and many.letters
local owing = box and box.owes(box.sums, call and (call.sent[1] or again and string.byte(sends) == 113))
if owing == 0 then owing = nil end
if state[15] or count_ends then
  local due = count_ends and count_ends() or tonumber(state[15] or 0) -- the counts are written after all else
  owing = (owing or 0) + 8 + (due > 0 and due <= now_ms and 4 or 0)
end
if owing and not letters then letters = 0 end
if letters and not skipped then skipped = 0 end
local stopped = call and call.paused[1] and call.paused or skipped and 0 or nil
if box and box.sums.odd then odd[#odd + 1] = 'outbox' end
local function some(list) return #list > 0 and list or 0 end -- even an empty list takes a microsecond
return { now_us, some(refused), first_fence, math.min(begun_before or begins, n_taken),
  length and (taken == ids and joined or table.concat(taken)) or some(taken), some(data), occurrences and table.concat(call.kinds) or 0,
  some(taken_crashes), long and some(way.owed_list(call)) or 0, (more and 1 or 0) + 2 * (waits or 0), state[2] and 1 or 0, next_ms, place, mark or 0, lapse,
  lapsed and some(lapsed) or 0, some(more_parked), parked_since or 0, some(superseded), #odd > 0 and table.concat(odd, ' ') or 0,
  limit and (limit.far and limit.state == 1 and 4 or limit.state) or stopped and 0, stopped, skipped, letters or nil, owing }
