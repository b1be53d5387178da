-- open: an entry of …:open, the occurrence of a schedule that was taken last and holds it: six texts separated by tabs. They are the
-- occurrence, its fence, its worker, its session, the first letter of its overlap policy, and the planned instant of the new
-- occurrence behind it (empty: none). The fence shows the state of the schedule:
--   a fence  the occurrence is in flight
--   0        nothing is in flight: the occurrence is in ready, and the schedule is held for it
--   -        under policy cancel: the occurrence came back and waits for its retry; the schedule is free
-- A new occurrence is one that has never begun. If the planned instant behind it is the occurrence's own, the occurrence is
-- new and the schedule is held for it.
--
-- The letter of the policy is a capital if the occurrence was backfilled (see backfill.lua) and has its first attempt. Such a flight
-- yields: the schedule's own next occurrence is not dropped because of it and does not end it, but waits behind it as under policy wait and
-- comes next; caught-up runs are placed meanwhile. Its retries are like those of any other occurrence.

-- opened returns the six parts of an entry; nothing if there is no entry.
local function opened(entry)
  if entry then return string.match(entry, '^([^\t]+)\t([^\t]+)\t([^\t]*)\t([^\t]*)\t(%a)\t([^\t]*)$') end
end

-- opening is the inverse of opened.
local function opening(id, fence, worker, session, letter, fresh)
  return id .. '\t' .. fence .. '\t' .. worker .. '\t' .. session .. '\t' .. letter .. '\t' .. fresh
end

-- is_held reports whether an entry's occurrence holds the schedule. An entry that cannot be read holds nothing.
local function is_held(entry)
  local _, fence = opened(entry)
  return fence and fence ~= '-'
end

-- yields reports for the letter in an entry whether the occurrence yields to the schedule's own.
local function yields(letter)
  return letter and letter ~= string.lower(letter)
end
