-- note: the note of a pause, as …:notes keeps it: "<when, Unix ms> <JSON with text and by>".
-- needs: clock

-- noted returns the text to keep for a note, which is JSON.
local function noted(note)
  return whole(now_ms) .. ' ' .. note
end

-- is_noted says whether a kept text has this note, whenever it was made.
local function is_noted(kept, note)
  return string.match(kept or '', '^%d+ (.*)$') == note
end
