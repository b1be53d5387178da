-- manual: the manual runs of schedules, and the jobs that follow the ends of their jobs, until they have ended.
-- needs: strings clock definition history

-- Each has a field of its own in the hash …:last, a tab and its ID -> "<planned> <kind> <schedule>": the second in which a manual run was
-- accepted (or in which its schedule was created, if that is later), or the planned instant of the job that it follows; m for a manual run, d
-- and its job name for a job that follows another one. The field exists as long as the job counts as unfinished in its schedule's own entry: the script that writes it
-- adds one, the script that removes it subtracts one, in the same step, unless that entry is of a later creation, or gone. So each job is counted
-- once, for any end and any number of repeated calls.

-- may_be_manual reports whether such a job may have this ID: most IDs end here.
local function may_be_manual(id)
  return find(id, '#', 2, true)
end

-- read_manual reads the fields of jobs that may be manual, from ids, into the table past of the piece history, with the entries of
-- their schedules. last: the key.
local function read_manual(past, last, ids)
  local fields, asked, names = {}, {}, {}
  past.manual, past.begun, past.gone = {}, {}, {}
  for _, id in ipairs(ids) do
    if may_be_manual(id) then asked[#asked + 1], fields[#fields + 1] = id, '\t' .. id end
  end
  for i, text in ipairs(#fields > 0 and redis.call('HMGET', last, unpack(fields)) or {}) do
    local planned, kind, name = match(text or '', '^(%S+) ([md]%S*) (.+)$')
    if planned then
      past.manual[asked[i]] = { name = name, planned = planned, kind = kind }
      if past.texts[name] == nil then past.texts[name], names[#names + 1] = false, name end
    end
  end
  for i, text in ipairs(#names > 0 and redis.call('HMGET', last, unpack(names)) or {}) do past.texts[names[i]] = text end
end

-- begin_manual records that such a job of the schedule name was accepted. kind: as in its field.
local function begin_manual(past, id, name, planned, kind)
  local created = kind == 'm' and match(past.texts[name] or '', '^[^ ,]+')
  -- a schedule that was deleted and created again is created in the next second: the run belongs to it
  if created and created_later(created, planned) then planned = sub(created, 1, 19) .. 'Z' end
  if past.manual[id] or not add_unfinished(past, name, planned, 1) then return end
  past.manual[id] = { name = name, planned = planned, kind = kind }
  past.begun[#past.begun + 1], past.begun[#past.begun + 2] = '\t' .. id, planned .. ' ' .. kind .. ' ' .. name
end

-- run_manual records the outcome of an attempt of such a job, see add_run of the piece history.
local function run_manual(past, id, run)
  local job = past.manual[id]
  if not job or run == '' or sub(id, 1, #job.name) ~= job.name then return end
  add_run(past, job.name, job.planned, run, (job.kind == 'm' and '' or '!' .. sub(job.kind, 2)) .. sub(id, #job.name + 1))
end

-- end_manual records that such a job has ended.
local function end_manual(past, id)
  local job = past.manual[id]
  if not job then return end
  past.manual[id], past.gone[#past.gone + 1] = nil, '\t' .. id
  add_unfinished(past, job.name, job.planned, -1)
end

-- save_manual writes the changes of these fields; save_past writes the others. last: the key.
local function save_manual(past, last)
  if #past.gone > 0 then redis.call('HDEL', last, unpack(past.gone)) end
  if #past.begun > 0 then redis.call('HSET', last, unpack(past.begun)) end
end
