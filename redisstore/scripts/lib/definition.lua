-- definition: the beginning of a stored definition (the rest belongs to the application), and a stored cursor.

-- head parses a definition: a table with revision, generation, state, created, overlap and rest, all texts. It is nil if the text
-- does not begin correctly, because it was edited by hand.
local function head(text)
  local revision, generation, state, created, overlap, rest = string.match(text or '',
    '^{"revision":(%d+),"generation":(%d+),"state":"([^"]+)","created":"([^"]+)","overlap":"(%a+)",(.+)$')
  return revision and
    { revision = revision, generation = generation, state = state, created = created, overlap = overlap, rest = rest }
end

-- definition is the inverse of head.
local function definition(h)
  return '{"revision":' .. h.revision .. ',"generation":' .. h.generation .. ',"state":"' .. h.state .. '","created":"' .. h.created ..
    '","overlap":"' .. h.overlap .. '",' .. h.rest
end

-- policy returns state, creation and overlap policy of a definition, without allocating its rest, which is long.
local function policy(text)
  return string.match(text or '', '^{"revision":%d+,"generation":%d+,"state":"([^"]+)","created":"([^"]+)","overlap":"(%a+)",')
end

-- offset_of returns how long after its planned instant an occurrence of a definition is due, ms.
local function offset_of(text)
  local offset = string.match(text, '^{"revision":%d+,"generation":%d+,"state":"[^"]+","created":"[^"]+","overlap":"%a+",' ..
    '"version":%d+,"spread":"[^"]+","offsetMs":(%d+),')
  return tonumber(offset or 0)
end

-- is_mark reports whether a definition's state is the mark of a schedule that moves, or has moved, to another queue.
local function is_mark(state)
  return string.sub(state, 1, 5) == 'moved'
end

-- cursor returns instant, runs used and kind of a stored cursor; nil, 0, nil without a cursor. The kind is p for an occurrence, c for one that
-- is caught up, s for a change or a pause, or if repair_orphans.lua has set it.
local function cursor(text)
  local at, used, kind = string.match(text or '', '^(%S+) (%d+) (%a)$')
  return at, tonumber(used or 0), kind
end

-- is_placed reports whether a cursor of this kind belongs to an occurrence.
local function is_placed(kind)
  return kind == 'p' or kind == 'c'
end

-- created_later reports whether a creation is in a later second than a planned instant: then the occurrence belongs to an earlier
-- schedule of the same name.
local function created_later(created, planned)
  return string.sub(created, 1, 19) > string.sub(planned, 1, 19)
end

-- is_dropped reports whether an occurrence without a body never runs, because its schedule was deleted. text: the stored definition, false if
-- it is absent; created: its creation, nil if the text is invalid.
local function is_dropped(text, created, planned)
  return not text or created and created_later(created, planned)
end
