-- repaired: wakes a worker after a repair, as the call would have whose change was lost.
-- needs: clock queuelimit waiting wake alarm

-- wake_repaired wakes a worker if a job may start now; otherwise two workers keep the alarm for the next instant at which one may start. paused, limit,
-- groups: these fields of state, before the repair; prefix: of the wake-up channels; the others: the keys.
local function wake_repaired(paused, limit, groups, prefix, idle, ready, due, turns, opens)
  if paused then return end
  local startable, next_ms = next_take(ready, due, turns, opens, groups or '', read_limit(limit), next_start) -- groups: the repair may have restored it
  if startable then
    wake_one(idle, prefix)
  elseif next_ms >= 0 then
    keep_alarm(idle, prefix, next_ms)
  end
end
