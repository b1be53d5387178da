-- note: the note of a pause, as …:notes stores it: "<when, Unix ms> <JSON with text and by>".
-- needs: clock

-- noted returns the text to store for a note, which is JSON.
local function noted(note)
  return whole(now_ms) .. ' ' .. note
end

-- is_noted reports whether a stored text has this note, of any instant.
local function is_noted(kept, note)
  return string.match(kept or '', '^%d+ (.*)$') == note
end
