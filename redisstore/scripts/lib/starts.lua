-- starts: the starts of a group that count, for a group whose rule limits them.
-- needs: limits clock queuelimit

-- g.starts is a text, as the key groups has it; nil: the rule does not limit them. There are pairs of starts as in the limit of a queue. Empty: there are none. Else
-- of the newest pair " <instant of its last start, Unix us>:<that of its first one>:<how many>"; if there are older pairs, ";<sum of how many they have>", and for
-- each of these, the oldest first, the same as for the newest one. Instants have 16 digits. So a take compares texts, and reads and writes one pair.
-- g.used is how many of the starts count; nil: they were not counted yet. Until then g.starts may have pairs that have ended: the end of a flight, and a job that is
-- added, do not read the starts of a group in turns.
local string_sub = string.sub
local TEXTS = {} -- number -> its text

-- text_of is whole for numbers that occur many times in a call.
local function text_of(n)
  local text = TEXTS[n]
  if not text then
    text = whole(n)
    TEXTS[n] = text
  end
  return text
end

-- The functions are on a table, because some scripts have no room for more locals.
local starts_of = (function()
  local starts_of = {}
  local NUMBERS = {} -- text -> its number
  local NOW = string.format('%016d', now_us)
  local FRESH = ' ' .. NOW .. ':' .. NOW .. ':1'
  local JOINED = ' ' .. NOW .. ':'
  local PAIR, SINCE = '^ (%d+):(%d+):(%d+)()', {}

  -- number_of is tonumber for texts that occur many times in a call.
  local number_of = function(text)
    local n = NUMBERS[text]
    if not n then
      n = tonumber(text)
      NUMBERS[text] = n
    end
    return n
  end

  -- since returns the text of the instant that was this number of ms before TIME.
  local since = function(ms)
    local text = SINCE[-ms] -- not [ms]: one Lua interpreter makes an array that is as long as the number
    if not text then
      text = string.format('%016d', math.max(math.ceil(now_us - ms * 1000), 0))
      SINCE[-ms] = text
    end
    return text
  end

  -- pairs_of returns the pairs of a text as the piece queuelimit has them, the oldest first. No instant is later than TIME: if the clock stepped back, it is
  -- TIME. What cannot be read counts nothing.
  local pairs_of = function(text)
    local list, newest, at = {}, nil, 1
    while at <= #text do
      local last, first, n, behind = string.match(text, PAIR, at)
      if not last or #last > 16 or #first > 16 or #n > 7 then return {} end
      last = math.min(tonumber(last), now_us)
      local pair = { last = last, span = math.max(last - tonumber(first), 0), n = tonumber(n) }
      if at > 1 then list[#list + 1] = pair else newest = pair end
      at = at > 1 and behind or string.match(text, '^;%d+()', behind) or behind
    end
    list[#list + 1] = newest
    return list
  end

  -- text_of_pairs is the reverse of pairs_of.
  local text_of_pairs = function(list)
    local texts, sum = {}, 0
    for i, pair in ipairs(list) do
      texts[i] = string.format(' %016d:%016d:%d', pair.last, pair.last - pair.span, pair.n)
      sum = sum + pair.n
    end
    local newest = table.remove(texts)
    if not newest then return '' end
    return texts[1] and newest .. ';' .. whole(sum - list[#list].n) .. table.concat(texts) or newest
  end

  -- starts_of.text returns the starts in the text of a group that usual_flights has read; nil: it is another one, or has a blocker.
  starts_of.text = function(text)
    return (#text == 43 or string.byte(text, 44) == 32 and not string.find(text, '\t', 44, true)) and string_sub(text, 44) or nil
  end

  -- starts_of.count returns how many starts of a group count: those of a pair until more than per has passed since its last one. It removes the other pairs.
  starts_of.count = function(g)
    if g.used then return g.used end
    local text, from, used = g.starts, since(g.rule.per), 0
    local last, first, n, at = string.match(text, PAIR)
    if last and last > NOW then
      text = text_of_pairs(pairs_of(text))
      last, first, n, at = string.match(text, PAIR)
    end
    if not last or last < from or #last ~= 16 then
      text = ''
    else
      used = number_of(n)
      local sum, oldest = string.match(text, '^;(%d+)()', at)
      if sum then
        local older, begin = number_of(sum), oldest
        while oldest < #text and string_sub(text, oldest + 1, oldest + 16) < from do
          n, oldest = string.match(text, '^ %d+:%d+:(%d+)()', oldest)
          if not n then oldest, older = #text + 1, 0 else older = older - number_of(n) end
        end
        local left = older > 0 and oldest < #text
        if oldest > begin then text = string_sub(text, 1, at - 1) .. (left and ';' .. text_of(older) .. string_sub(text, oldest) or '') end
        if left then used = used + older end
      end
    end
    g.starts, g.used = text, used
    return used
  end

  -- starts_of.add counts a start of a group. It joins the newest pair within per / 32 of that one's first start, if more than 32 starts are allowed.
  starts_of.add = function(g)
    g.used = starts_of.count(g) + 1
    local text, rule = g.starts, g.rule
    if text == '' then
      g.starts = FRESH
      return
    end
    local last, first, n, at = string.match(text, PAIR)
    if last == NOW or rule.starts > PAIRS and first >= since(rule.per / PAIRS) then
      g.starts = JOINED .. first .. ':' .. text_of(number_of(n) + 1) .. string_sub(text, at)
    else
      local sum, oldest = string.match(text, '^;(%d+)()', at)
      local older = text_of((sum and number_of(sum) or 0) + number_of(n))
      g.starts = FRESH .. ';' .. older .. string_sub(text, oldest or #text + 1) .. string_sub(text, 1, at - 1)
    end
  end

  -- starts_of.started reports whether a settlement gives a start of the group back, as gives_back does for a queue.
  starts_of.started = function(g, kind, amount, fence)
    if not g.starts then return false end
    starts_of.count(g)
    return gives_back({ pairs = pairs_of(g.starts) }, kind, amount, fence)
  end

  -- starts_of.give_back gives a start back: the oldest pair, which ends first, has one less.
  starts_of.give_back = function(g)
    starts_of.count(g)
    local list = pairs_of(g.starts)
    if not list[1] then return end
    list[1].n, g.used = list[1].n - 1, g.used - 1
    if list[1].n == 0 then table.remove(list, 1) end
    g.starts = text_of_pairs(list)
  end

  -- starts_of.opens_at returns the instant of the next start, Unix ms, of a group of which all starts are used.
  starts_of.opens_at = function(g)
    local used, at_ms = starts_of.count(g), now_ms
    for _, pair in ipairs(pairs_of(g.starts)) do
      if used < g.rule.starts then break end
      used, at_ms = used - pair.n, math.max(math.floor((pair.last + g.rule.per * 1000) / 1000) + 1, now_ms)
    end
    return at_ms
  end
  return starts_of
end)()
