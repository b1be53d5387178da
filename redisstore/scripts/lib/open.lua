-- open: an entry of …:open, the occurrence of a schedule that was taken last and holds it: six texts separated by tabs. They are the
-- occurrence, its fence, its worker, its session, the first letter of its overlap policy, and the planned instant of the new
-- occurrence behind it (empty: none). The fence says how the schedule stands:
--   a fence  the occurrence is in flight
--   0        nothing is in flight: the occurrence stands in ready, and the schedule is held for it
--   -        under policy cancel: the occurrence came back and waits for its retry; the schedule is free
-- A new occurrence is one that has never begun. If the planned instant behind it is that of the occurrence itself, the occurrence is
-- new and the schedule is held for it.

-- opened returns the six parts of an entry; of none it returns nothing.
local function opened(entry)
  if entry then return string.match(entry, '^([^\t]+)\t([^\t]+)\t([^\t]*)\t([^\t]*)\t(%a)\t([^\t]*)$') end
end

-- opening puts together what opened takes apart.
local function opening(id, fence, worker, session, letter, fresh)
  return id .. '\t' .. fence .. '\t' .. worker .. '\t' .. session .. '\t' .. letter .. '\t' .. fresh
end

-- is_held says of an entry whether an occurrence holds the schedule. One that cannot be read holds nothing.
local function is_held(entry)
  local _, fence = opened(entry)
  return fence and fence ~= '-'
end
