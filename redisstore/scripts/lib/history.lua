-- history: the entries of a schedule in …:last and …:history: its last outcome, and its last attempts.
-- needs: strings clock seconds definition

-- An entry of …:last is "<creation> <keep> <unfinished> <failures> <outcome> <planned> <ended>": when the schedule was created (if instants
-- before that were backfilled, also a comma and the earliest of them); how many attempts …:history keeps; how many occurrences, manual runs
-- and deaths were taken, or backfilled, and have not ended (see the piece manual); the number of consecutive failed attempts; the outcome of
-- the last attempt, its first two letters (-: none), the planned instant of its occurrence and when it ended, both in Unix ms; for a
-- schedule with the option PauseAfter, the text of the piece streak.
--
-- The attempts of a schedule are in …:history, in fields of up to 1 KiB, so that a run does not rewrite those before it. The names of these fields are
-- "<short>\t<n>", n from first to last. A number n is never used again, and neither is a short; the field "\t" has the last short that was drawn, as a
-- number. Such a field is "<attempts> <bytes of their notes> ", and then each attempt, the oldest first: "<its bytes>,<bytes of its note>:" and nine
-- texts separated by tabs: outcome, two letters, followed by the rest of its ID for a manual run, and by "!", its job name and the rest of its ID
-- for a death; planned instant, Unix s; ms from there to its start; ms from there to its end; number of the attempt, 0: no attempt, followed by "b"
-- if its occurrence was backfilled; its fence less the µs of its start; worker; error; note.
-- An attempt of more than 1 KiB has a field of its own.
--
-- The field with the schedule's name is the head:
-- "=<short> <first> <last> <attempts> <bytes of notes> <attempts in first> <bytes of their notes> <bare> <size> ".
-- The fields before bare have no notes; size: bytes of the attempts in last. Then come the days of their occurrences, if any were counted: "d<days> ",
-- see the function entries. If the schedule has left this queue, the days at that time follow, which moved with it: "x<days> ".
-- A write adds attempts to last, or to new fields. It removes as many of the first fields as it adds, and at most two more. So after some writes
-- all attempts that are not among the newest <keep> are removed.
--
-- Before layout 4 the field with the name had all attempts: "<attempts> <bytes of their notes> ", the days, and the attempts. The next run
-- rewrites it. A schedule moves to another queue with a text of this form.

-- If a schedule has no entry in …:last, nothing is kept for it, nor for an occurrence of an earlier schedule of its name: a removed schedule
-- leaves nothing.

-- read_past reads the entries of schedules in the hash last. Returns the table for the other functions.
local function read_past(last, names)
  local past = { texts = {}, known = {}, changed = {}, added = {} }
  if #names == 0 then return past end
  for i, text in ipairs(redis.call('HMGET', last, unpack(names))) do past.texts[names[i]] = text end
  return past
end

-- add_unfinished counts an occurrence that was taken for the first time, 1, or has ended, -1; 0: neither. Returns the entry of its schedule;
-- false: nothing is kept for it.
local function add_unfinished(past, name, planned, n)
  local known = past.known[name]
  if known == nil then
    local created, keep, unfinished, failures, outcome, at, ended, streak = match(past.texts[name] or '', '^(%S+) (%d+) (%d+) (%d+) (%S+) (%d+) (%-?%d+)(.*)$')
    known = created and { created = created, keep = tonumber(keep), unfinished = tonumber(unfinished), failures = tonumber(failures),
      outcome = outcome, at = at, ended = ended, streak = streak, since = match(created, ',(.+)$') or created } or false
    past.known[name] = known
  end
  if not known or created_later(known.since, planned) then return false end
  if n ~= 0 then known.unfinished, past.changed[name] = math.max(known.unfinished + n, 0), true end
  return known
end

-- add_run adds the outcome of an attempt: run is "<outcome>|<started>|<ended>", Unix ms, followed, if there was an attempt, by
-- "|<number>|<fence>|<worker>|<error>\t<note>", or "|<number>b|…" if it was backfilled. which: the text after the outcome in an entry of
-- …:history; nil: none. A manual run also changes the last outcome of a schedule, a death does not.
local function add_run(past, name, planned, run, which)
  local known = add_unfinished(past, name, planned, 0)
  if not known then return end
  local outcome, started, ended, about = match(run, '^(%a+)|(%-?%d+)|(%-?%d+)(.*)$')
  local attempt, fence, worker, problem, note = match(about or '', '^|(%d+b?)|(%d+)|([^|]*)|([^\t]*)\t(.*)$')
  if not outcome then return end
  local planned_s = seconds(planned)
  if (outcome == 'dead' or (attempt or '0') ~= '0') and not (which and byte(which, 1) == 33) then -- !
    if outcome == 'done' then known.failures = 0 end
    if outcome == 'failed' or outcome == 'dead' then known.failures = known.failures + 1 end
    known.outcome, known.at, known.ended, past.changed[name] = sub(outcome, 1, 2), whole(planned_s * 1000), ended, true
  end
  if known.keep == 0 then return end
  local list = past.added[name] or {}
  past.added[name] = list
  local text = table.concat({ sub(outcome, 1, 2) .. (which or ''), whole(planned_s), whole(started - planned_s * 1000), whole(ended - started), attempt or '0',
    fence and whole(fence - started * 1000) or '', worker or '', problem or '', note or '' }, '\t')
  list[#list + 1] = { text = text, note = #(note or '') }
  local counts = not which and ({ done = 'D', failed = 'F', dead = 'F', skipped = 'S', missed = 'M' })[outcome]
  if counts then
    list.days = list.days or {}
    list.days[#list.days + 1] = { math.floor(planned_s / 86400), counts, 1 }
  end
end

-- entries returns the functions for entries of …:history and the days in them, which few calls need: in a table, because a script has few locals.
--
-- The days are those of planned instants of occurrences, in UTC: "<the newest day>.<day>.<day>…", the newest first, at most 35, all of them from the
-- first that is known. The newest day is a number of days since 1970. A day is the number of successes, then a letter and a number for each other
-- kind that occurred: F failed attempts, S skipped, M missed. "~" and a number after it: that many days in a row, but never the newest. Numbers
-- have the base 36.
local function entries()
  local KEPT_DAYS, DIGITS = 35, '0123456789abcdefghijklmnopqrstuvwxyz'
  local FIELD_BYTES, MAX_FIELDS = 1024, 4000 -- MAX_FIELDS: a head with more was changed by hand
  local MAX_NOTES = 65536 -- bytes of a schedule's notes; if they are more, the oldest are removed
  local MAX_REMOVED = 400 -- fields that a call removes or changes at most, shared by its schedules, but at least two for each
  local SLICE = 1000 -- values of one command

  -- parses a head, or an entry of before layout 4, whose attempts are then in runs
  local history_of = function(text)
    local h = { first = 1, last = 0, count = 0, notes = 0, front = 0, front_notes = 0, bare = 1, size = 0, days = '', runs = '', fields = {}, added = 0 }
    local short, first, last, count, notes, front, front_notes, bare, size, at =
      match(text or '', '^=(%w+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ()')
    if short and tonumber(last) - tonumber(first) < MAX_FIELDS then
      h.short, h.first, h.last, h.count, h.notes = short, tonumber(first), tonumber(last), tonumber(count), tonumber(notes)
      h.front, h.front_notes, h.bare, h.size = tonumber(front), tonumber(front_notes), tonumber(bare), tonumber(size)
    else
      at = match(text or '', '^%d+ %d+ ()')
    end
    if not at then return h end
    local days, behind = match(text, '^d(%S+) ()', at)
    local left, runs_at = match(text, '^x(%S*) ()', behind or at)
    h.days, h.left = days or '', left
    if not h.short then h.runs = sub(text, runs_at or behind or at) end
    return h
  end

  -- the days of a head, as they are in the text
  local days_text = function(h)
    return (h.days ~= '' and 'd' .. h.days .. ' ' or '') .. (h.left and 'x' .. h.left .. ' ' or '')
  end

  -- the text of a head
  local head_text = function(h)
    local numbers = {}
    for i, n in ipairs({ h.first, h.last, h.count, h.notes, h.front, h.front_notes, h.bare, h.size }) do numbers[i] = whole(n) end
    return '=' .. h.short .. ' ' .. table.concat(numbers, ' ') .. ' ' .. days_text(h)
  end

  -- the name of the n-th field
  local field_name = function(h, n)
    return h.short .. '\t' .. whole(n)
  end

  -- parses a field. The first of its parts is its beginning, with the numbers.
  local field_of = function(text)
    local count, notes, at = match(text or '', '^(%d+) (%d+) ()')
    if not count then return nil end
    local runs = sub(text, at)
    return { count = tonumber(count), notes = tonumber(notes), size = #runs, parts = { '', runs } }
  end

  -- reads the n-th field, if it has not been read; nil: none
  local field = function(history, h, n)
    -- read after write: the ended attempts are known only now
    if not h.fields[n] then h.fields[n] = field_of(redis.call('HGET', history, field_name(h, n))) end
    return h.fields[n]
  end

  -- calls add with each attempt of a text, and the bytes of its note; returns whether the text could be read
  local each_attempt = function(runs, add)
    local at = 1
    while at <= #runs do
      local bytes, note, start = match(sub(runs, at, at + 20), '^(%d+),(%d+):()')
      if not bytes or tonumber(note) > tonumber(bytes) then return false end
      start = at + start - 1
      at = start + bytes
      if at > #runs + 1 then return false end
      add(sub(runs, start, at - 1), tonumber(note))
    end
    return true
  end

  -- what is before an attempt in a field
  local attempt_head = function(bytes, note)
    return whole(bytes) .. ',' .. whole(note) .. ':'
  end

  -- adds an attempt to the last field, if that was read and has room, else to a new one
  local add_attempt = function(h, text, note)
    local before, tail = attempt_head(#text, note), h.fields[h.last]
    local bytes = #before + #text
    if not tail or tail.size + bytes > FIELD_BYTES then
      tail = { count = 0, notes = 0, size = 0, parts = { '' } }
      h.last, h.added = h.last + 1, h.added + 1
      h.fields[h.last] = tail
    end
    tail.count, tail.notes, tail.size, tail.changed = tail.count + 1, tail.notes + note, tail.size + bytes, true
    tail.parts[#tail.parts + 1], tail.parts[#tail.parts + 2] = before, text
    h.count, h.notes, h.size = h.count + 1, h.notes + note, tail.size
    if h.last == h.first then h.front, h.front_notes = tail.count, tail.notes end
  end

  -- distributes the attempts of an entry of before layout 4 among fields; if it was edited by hand, the history starts empty
  local unpack_runs = function(h)
    local runs = h.runs
    h.runs, h.count, h.notes = '', 0, 0
    if not each_attempt(runs, function(text, note) add_attempt(h, text, note) end) then
      h.first, h.last, h.count, h.notes, h.front, h.front_notes, h.size, h.fields, h.added = 1, 0, 0, 0, 0, 0, 0, {}, 0
    end
  end

  -- removes the notes of a field
  local strip = function(f)
    local parts = {}
    each_attempt(table.concat(f.parts), function(text, note) parts[#parts + 1] = attempt_head(#text - note, 0) .. sub(text, 1, #text - note) end)
    f.parts, f.notes, f.changed = { '', table.concat(parts) }, 0, true
    f.size = #f.parts[2]
  end

  -- removes the first fields that are not needed for the newest keep attempts, then notes of the first ones that remain; most: how many
  -- fields of each. gone: their names.
  local shorten = function(history, h, keep, most, gone)
    local n = 0
    while n < most and h.first < h.last and h.count - h.front >= keep do
      gone[#gone + 1] = field_name(h, h.first)
      h.fields[h.first] = nil
      h.count, h.notes, h.first, n = h.count - h.front, math.max(h.notes - h.front_notes, 0), h.first + 1, n + 1
      local front = field(history, h, h.first)
      h.front, h.front_notes = front and front.count or 0, front and front.notes or 0
    end
    h.bare, n = math.max(h.bare, h.first), 0
    while n < most and h.notes > MAX_NOTES and h.bare < h.last do
      local bare = field(history, h, h.bare)
      if bare and bare.notes > 0 then
        h.notes = math.max(h.notes - bare.notes, 0)
        strip(bare)
        if h.bare == h.first then h.front_notes = 0 end
      end
      h.bare, n = h.bare + 1, n + 1
    end
  end

  -- writes pairs of fields and values
  local set_fields = function(history, list)
    for i = 1, #list, SLICE do redis.call('HSET', history, unpack(list, i, math.min(i + SLICE - 1, #list))) end
  end

  -- removes fields
  local remove_fields = function(history, names)
    for i = 1, #names, SLICE do redis.call('HDEL', history, unpack(names, i, math.min(i + SLICE - 1, #names))) end
  end

  -- adds a head and its changed fields to a list of pairs
  local add_changes = function(list, name, h)
    list[#list + 1], list[#list + 2] = name, head_text(h)
    for n, f in pairs(h.fields) do
      if f.changed then
        f.parts[1] = whole(f.count) .. ' ' .. whole(f.notes) .. ' '
        list[#list + 1], list[#list + 2] = field_name(h, n), table.concat(f.parts)
      end
    end
  end

  -- adds to of, -day -> letter (D: done) -> number, and extends range to the newest and the oldest day. Not day: one Lua interpreter makes an array of
  -- as many days.
  local add_day = function(of, range, day, letter, n)
    range.newest, range.oldest = math.max(range.newest or day, day), math.min(range.oldest or day, day)
    of[-day] = of[-day] or {}
    of[-day][letter] = (of[-day][letter] or 0) + n
  end

  -- adds the days of a text
  local add_days = function(of, range, text)
    local first, tokens = match(text, '^(%w+)(%..*)$')
    local day = tonumber(first or '', 36)
    for token in string.gmatch(day and tokens or '', '%.([^.]*)') do
      local alike, times = match(token, '^(.-)~(%w+)$')
      for _ = 1, times and math.min(tonumber(times, 36) or 0, KEPT_DAYS) or 1 do
        add_day(of, range, day, 'D', 0)
        for letter, digits in string.gmatch(alike or token, '(%u?)([%l%d]+)') do add_day(of, range, day, letter == '' and 'D' or letter, tonumber(digits, 36) or 0) end
        day = day - 1
      end
    end
  end

  local base36 = function(n)
    local digits = ''
    repeat
      local digit = n % 36
      digits, n = sub(DIGITS, digit + 1, digit + 1) .. digits, (n - digit) / 36
    until n == 0
    return digits
  end

  -- the text of a day, letter -> number
  local day_text = function(numbers)
    local token = ''
    for _, letter in ipairs({ 'D', 'F', 'S', 'M' }) do
      local n = numbers[letter] or 0
      if n > 0 then token = token .. (letter == 'D' and '' or letter) .. base36(n) end
    end
    return token
  end

  -- returns the text of the days of two texts, with counts, each a day, a letter and a number
  local count_days = function(text, other, counts)
    local of, range = {}, {}
    local first, token, rest = match(text, '^(%w+)%.([^.~]*)(.*)$')
    local newest, alone = tonumber(first or '', 36), other == ''
    for _, count in ipairs(counts) do alone = alone and count[1] == newest end
    if alone and newest then -- as nearly always: the others do not change
      for letter, digits in string.gmatch(token, '(%u?)([%l%d]+)') do add_day(of, range, newest, letter == '' and 'D' or letter, tonumber(digits, 36)) end
      for _, count in ipairs(counts) do add_day(of, range, newest, count[2], count[3]) end
      return first .. '.' .. day_text(of[-newest] or {}) .. rest
    end
    add_days(of, range, text)
    add_days(of, range, other)
    for _, count in ipairs(counts) do add_day(of, range, count[1], count[2], count[3]) end
    if not range.newest then return '' end
    local parts, last, times = { base36(range.newest) }, nil, 0
    for day = range.newest, math.max(range.oldest, range.newest - KEPT_DAYS + 1), -1 do
      token = day_text(of[-day] or {})
      if token == last and day < range.newest - 1 then
        times = times + 1
        parts[#parts] = token .. '~' .. base36(times)
      else
        parts[#parts + 1], last, times = token, token, 1
      end
    end
    return table.concat(parts, '.')
  end

  -- the short after the last one that was drawn, the text of the field "\t", and the text that replaces it. If that was lost, the new one is
  -- higher than any that was drawn, unless one was drawn each second.
  local next_short = function(drawn)
    local n = (tonumber(drawn or '') or now_s) + 1
    return base36(n), whole(n)
  end

  -- returns a schedule's history as a text of the form before layout 4
  local history_text = function(history, h, days, left)
    local parts, count, notes = { h.runs }, h.count, h.notes
    if h.short then
      count, notes = 0, 0
      for from = h.first, h.last, SLICE do
        local names = {}
        for n = from, math.min(from + SLICE - 1, h.last) do names[#names + 1] = field_name(h, n) end
        for _, text in ipairs(redis.call('HMGET', history, unpack(names))) do
          local f = field_of(text)
          if f then count, notes, parts[#parts + 1] = count + f.count, notes + f.notes, f.parts[2] end
        end
      end
    end
    return whole(count) .. ' ' .. whole(notes) .. ' ' .. days_text({ days = days, left = left }) .. table.concat(parts)
  end

  -- returns the pairs to write for a history that has arrived as such a text. drawn: the text of the field "\t".
  local arrived = function(name, text, days, drawn)
    local h, list = history_of(text), {}
    unpack_runs(h)
    h.days, h.left = days, nil
    h.short, list[2] = next_short(drawn)
    list[1] = '\t'
    add_changes(list, name, h)
    return list
  end

  -- adds attempts to the histories of schedules: past.added[name] has them, and past.known[name].keep is how many remain
  local add = function(history, past, names)
    local heads, asked, whose, added = {}, {}, {}, past.added
    names[#names + 1] = '\t'
    -- read after write: the ended attempts are known only now
    local texts = redis.call('HMGET', history, unpack(names))
    names[#names] = nil
    local drawn, before = texts[#names + 1], texts[#names + 1]
    for i, name in ipairs(names) do
      local h, run = history_of(texts[i]), added[name][math.max(#added[name] - past.known[name].keep + 1, 1)]
      heads[i] = h
      if h.last >= h.first and h.size + #attempt_head(#run.text, run.note) + #run.text <= FIELD_BYTES then asked[#asked + 1], whose[#whose + 1] = field_name(h, h.last), h end
    end
    for i, text in ipairs(#asked > 0 and redis.call('HMGET', history, unpack(asked)) or {}) do whose[i].fields[whose[i].last] = field_of(text) end
    local list, gone = {}, {}
    for i, name in ipairs(names) do
      local h, runs, keep = heads[i], added[name], past.known[name].keep
      if not h.short then
        h.short, drawn = next_short(drawn)
        unpack_runs(h)
      end
      if runs.days then h.days = count_days(h.days, '', runs.days) end
      for k = math.max(#runs - keep + 1, 1), #runs do add_attempt(h, runs[k].text, runs[k].note) end
      shorten(history, h, keep, math.max(h.added + 2, math.floor(MAX_REMOVED / #names)), gone)
      add_changes(list, name, h)
    end
    if drawn ~= before then list[#list + 1], list[#list + 2] = '\t', drawn end
    set_fields(history, list)
    remove_fields(history, gone)
  end

  return { parse = history_of, head = head_text, text = history_text, count_days = count_days, arrived = arrived, add = add, set = set_fields }
end

-- save_last writes the changes to the hash last, except those of manual runs.
local function save_last(past, last)
  local lasts = {}
  for name in pairs(past.changed) do
    local known = past.known[name]
    lasts[#lasts + 1] = name
    lasts[#lasts + 1] = table.concat({ known.created, known.keep, known.unfinished, known.failures, known.outcome, known.at, known.ended }, ' ') .. known.streak
  end
  if #lasts > 0 then redis.call('HSET', last, unpack(lasts)) end
end

-- save_past writes the changes. last, history: the keys.
local function save_past(past, last, history)
  save_last(past, last)
  local names = {}
  for name in pairs(past.added) do names[#names + 1] = name end
  if #names > 0 then entries().add(history, past, names) end
end
