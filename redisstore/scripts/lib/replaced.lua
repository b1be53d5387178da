-- replaced: the settlements of jobs that were replaced while they were held, see the piece after.
-- needs: limits clock counters call settle after

-- settle_replaced settles the jobs that were replaced while they were held. replaced has three values for each: ID, kind of the settlement,
-- the index in annexes; texts are their entries in after. The held job has had its attempt; the new job starts from the beginning.
local function settle_replaced(call, replaced, texts, annexes)
  for i = 1, #replaced, 3 do
    local id, kind, annex = replaced[i], replaced[i + 1], annexes[replaced[i + 2]]
    local due_ms, body, group = after_of(texts[(i + 2) / 3])
    call.removed[#call.removed + 1] = id
    if annex and annex.g then call.reported[#call.reported + 1] = id end
    if kind == 'd' then
      call.done = call.done + 1
      if annex and annex.r then keep_result(call, id, kind, annex) end
    elseif kind == 'f' or kind == 'x' then
      count(call, FAILED, 1)
    end
    call.uncrashed[#call.uncrashed + 1] = id
    if body then
      add_pair(call.envelopes, id, body)
      if #body > LARGE_BYTES then call.large = true end
    end
    if group then
      replaced.entering = replaced.entering or {}
      replaced.entering[#replaced.entering + 1] = { id = id, group = group, now = due_ms <= now_ms }
    end
    if body and due_ms > now_ms then
      add_due(call, call.due, id, due_ms)
    elseif not group then
      replaced.back = replaced.back or {}
      replaced.back[#replaced.back + 1] = id
    end
  end
end

-- save_replaced writes the changes of settle_replaced, except those that save_settlements writes.
local function save_replaced(replaced, after, ready)
  local ids = {}
  for i = 1, #replaced, 3 do ids[#ids + 1] = replaced[i] end
  redis.call('HDEL', after, unpack(ids))
  if replaced.back then redis.call('RPUSH', ready, unpack(replaced.back)) end
end
