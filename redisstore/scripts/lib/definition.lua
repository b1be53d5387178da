-- definition: how a stored definition begins; the rest of the text belongs to the application.

-- head returns revision, state, creation, overlap policy and the rest of a definition; nothing if it does not begin as it should.
local function head(text)
  return string.match(text or '', '^{"revision":(%d+),"state":"([^"]+)","created":"([^"]+)","overlap":"(%a+)",(.+)$')
end

-- policy returns state, creation and overlap policy: what most ask for. The rest, which is long, need not be made a string of its own.
local function policy(text)
  return string.match(text or '', '^{"revision":%d+,"state":"([^"]+)","created":"([^"]+)","overlap":"(%a+)",')
end

local function definition(revision, state, created, overlap, rest)
  return '{"revision":' .. revision .. ',"state":"' .. state .. '","created":"' .. created .. '","overlap":"' .. overlap .. '",' .. rest
end

-- cursor returns instant, runs used and kind (p: an occurrence, s: a change or a pause); nothing where none is stored.
local function cursor(text)
  local at, used, kind = string.match(text or '', '^(%S+) (%d+) (%a)$')
  return at, tonumber(used or 0), kind
end
