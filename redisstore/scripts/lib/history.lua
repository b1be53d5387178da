-- history: the entries of a schedule in …:last and …:history: its last outcome, and its last attempts.
-- needs: strings clock seconds definition

-- An entry of …:last is "<creation> <keep> <unfinished> <failures> <outcome> <planned> <ended>": when the schedule was created (if instants
-- before that were backfilled, also a comma and the earliest of them); how many attempts …:history keeps; how many occurrences, manual runs
-- and deaths were taken, or backfilled, and have not ended (see the piece manual); the number of consecutive failed attempts; the outcome of
-- the last attempt, its first two letters (-: there is none), the planned instant of its occurrence and when it ended, both in Unix ms; for a
-- schedule with the option PauseAfter, the text of the piece streak.
--
-- An entry of …:history is "<how many attempts> <bytes of their notes> " and then each attempt, the oldest first:
-- "<its bytes>,<bytes of its note>:" and nine texts separated by tabs: outcome, two letters, followed by the rest of its ID for a manual run,
-- and by "!", its job name and the rest of its ID for a death; planned instant, Unix s; ms from there to its start; ms
-- from there to its end; number of the attempt, 0: no attempt, followed by "b" if its occurrence was backfilled; its fence less the µs of its start; worker; error; note.
-- Before the attempts are the days of their occurrences, if any were counted: "d<days> ", see the function entries; and if the schedule has
-- left this queue, the days at that time, which moved with it: "x<days> ".
--
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

-- entries returns three functions for entries of …:history and the days in them, which few calls need.
--
-- The days are those of planned instants of occurrences, in UTC: "<the newest day>.<day>.<day>…", the newest first, at most 35, all of them from the
-- first that is known. The newest day is a number of days since 1970. A day is the number of successes, then a letter and a number for each other
-- kind that occurred: F failed attempts, S skipped, M missed. "~" and a number after it: that many days in a row, but never the newest. Numbers
-- have the base 36.
local function entries()
  local KEPT_DAYS, DIGITS = 35, '0123456789abcdefghijklmnopqrstuvwxyz'

  -- parses an entry: how many attempts, bytes of their notes, the days (empty: none), the days at the time when the schedule left this
  -- queue (nil: it has not), and the attempts
  local history_of = function(text)
    local count, notes, at = match(text or '', '^(%d+) (%d+) ()')
    if not count then return 0, 0, '', nil, '' end
    local days, behind = match(text, '^d(%S+) ()', at)
    local left, runs_at = match(text, '^x(%S*) ()', behind or at)
    return tonumber(count), tonumber(notes), days or '', left, sub(text, runs_at or behind or at)
  end

  -- the inverse of history_of
  local history_text = function(count, notes, days, left, runs)
    return whole(count) .. ' ' .. whole(notes) .. ' ' .. (days ~= '' and 'd' .. days .. ' ' or '') .. (left and 'x' .. left .. ' ' or '') .. runs
  end

  -- adds to of, day -> letter (D: done) -> number, and extends range to the newest and the oldest day
  local add_day = function(of, range, day, letter, n)
    range.newest, range.oldest = math.max(range.newest or day, day), math.min(range.oldest or day, day)
    of[day] = of[day] or {}
    of[day][letter] = (of[day][letter] or 0) + n
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
      return first .. '.' .. day_text(of[newest] or {}) .. rest
    end
    add_days(of, range, text)
    add_days(of, range, other)
    for _, count in ipairs(counts) do add_day(of, range, count[1], count[2], count[3]) end
    if not range.newest then return '' end
    local parts, last, times = { base36(range.newest) }, nil, 0
    for day = range.newest, math.max(range.oldest, range.newest - KEPT_DAYS + 1), -1 do
      token = day_text(of[day] or {})
      if token == last and day < range.newest - 1 then
        times = times + 1
        parts[#parts] = token .. '~' .. base36(times)
      else
        parts[#parts + 1], last, times = token, token, 1
      end
    end
    return table.concat(parts, '.')
  end

  return history_of, history_text, count_days
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
  local MAX_NOTES = 65536 -- bytes of a schedule's notes; if they are more, the oldest are removed until a quarter is free
  local names, histories = {}, {}
  save_last(past, last)
  for name in pairs(past.added) do names[#names + 1] = name end
  if #names == 0 then return end
  local history_of, history_text, count_days = entries()
  -- read after write: the ended attempts are known only now
  for i, text in ipairs(redis.call('HMGET', history, unpack(names))) do
    local added, keep = past.added[names[i]], past.known[names[i]].keep
    local count, notes, days, left, kept = history_of(text)
    local parts = { kept }
    for _, run in ipairs(added) do
      count, notes = count + 1, notes + run.note
      parts[#parts + 1] = #run.text .. ',' .. run.note .. ':' .. run.text
    end
    -- the oldest are removed, then notes of the oldest that remain; an entry edited by hand starts empty
    local runs, first, short = table.concat(parts), 1, {}
    local most = notes > MAX_NOTES and MAX_NOTES * 3 / 4 or MAX_NOTES
    while count > keep or notes > most do
      local bytes, note, start = match(sub(runs, first, first + 20), '^(%d+),(%d+):()')
      if not bytes then
        runs, first, count, notes, short = '', 1, 0, 0, {}
        break
      end
      start = first + start - 1
      if count > keep then
        count = count - 1
      else
        short[#short + 1] = (bytes - note) .. ',0:' .. sub(runs, start, start + bytes - note - 1)
      end
      first, notes = start + bytes, notes - note
    end
    histories[2 * i - 1], histories[2 * i] = names[i], history_text(count, notes, added.days and count_days(days, '', added.days) or days, left, table.concat(short) .. sub(runs, first))
  end
  redis.call('HSET', history, unpack(histories))
end
