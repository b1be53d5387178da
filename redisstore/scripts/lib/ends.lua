-- ends: the ends of pauses, which are in their notes: see lib/note.lua. …:ends is an index of them: "queue", "schedule\t<name>" or "group\t<key>" -> the
-- end, Unix ms. The note decides: an entry that an older version has left behind ends nothing, and is removed when its time comes.
-- needs: clock

-- end_of returns the end of a pause with this note, Unix ms; nil: it has none.
local function end_of(note)
  local at = string.match(note or '', '"until":(%d+)[,}]')
  return at and tonumber(at)
end

-- is_over reports whether the end of a pause with this note has come.
local function is_over(note)
  local at = end_of(note)
  return at and at <= now_ms
end

-- set_end writes the end of a pause with this note to the index; '': there is no pause. ends: the key.
local function set_end(ends, member, note)
  local at = end_of(note)
  if at then redis.call('ZADD', ends, whole(at), member) else redis.call('ZREM', ends, member) end
end
