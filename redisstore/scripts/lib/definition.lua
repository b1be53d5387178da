-- definition: how a stored definition begins, the rest of the text belongs to the application; and a stored cursor.

-- head returns revision, state, creation, overlap policy and the rest of a definition; nothing if it does not begin as it should.
local function head(text)
  return string.match(text or '', '^{"revision":(%d+),"state":"([^"]+)","created":"([^"]+)","overlap":"(%a+)",(.+)$')
end

-- policy returns state, creation and overlap policy of a definition, and so spares making its rest, which is long, a string of its own.
local function policy(text)
  return string.match(text or '', '^{"revision":%d+,"state":"([^"]+)","created":"([^"]+)","overlap":"(%a+)",')
end

-- definition puts together what head takes apart.
local function definition(revision, state, created, overlap, rest)
  return '{"revision":' .. revision .. ',"state":"' .. state .. '","created":"' .. created .. '","overlap":"' .. overlap .. '",' .. rest
end

-- is_mark says of a definition's state whether this is the mark of a schedule that moves, or has moved, to another queue.
local function is_mark(state)
  return state and string.sub(state, 1, 5) == 'moved' or false
end

-- cursor returns instant, runs used and kind (p: an occurrence, s: a change or a pause) of a stored cursor; of none: nil, 0, nil.
local function cursor(text)
  local at, used, kind = string.match(text or '', '^(%S+) (%d+) (%a)$')
  return at, tonumber(used or 0), kind
end
