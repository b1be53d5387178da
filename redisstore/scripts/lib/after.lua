-- after: the job that follows a job in flight, which was replaced while it was held.

-- The hash after has job ID -> "<instant it is due, Unix ms; 0: at the end of the flight> <envelope>"; if the job has a group, "<instant>\t<length of the
-- group> <group><envelope>".
-- The fence of the job has "+" before it, and remains in the same hash …:inflight. replace.lua writes both. The script that ends the flight, with any
-- settlement or by reaping, removes both in the same step and enqueues the job again with this envelope: so there is an entry in after if and only if
-- a fence has this sign. A job that is cancelled loses its entry, and has the sign "!" instead.

-- after_of returns the instant, the envelope and the group (nil: it has none) of an entry; nil: it is not a valid entry.
local function after_of(text)
  local at = text and string.find(text, ' ', 1, true)
  local due_ms = at and tonumber(string.sub(text, 1, at - 1))
  if due_ms then return due_ms, string.sub(text, at + 1) end
  local instant, length = string.match(at and string.sub(text, 1, at - 1) or '', '^(%d+)\t(%d+)$')
  if instant then return tonumber(instant), string.sub(text, at + 1 + tonumber(length)), string.sub(text, at + 1, at + tonumber(length)) end
end

-- after_text returns an entry. group: nil: the job has none.
local function after_text(due_ms, body, group)
  return string.format('%d', due_ms) .. (group and '\t' .. #group .. ' ' .. group or ' ') .. body
end
