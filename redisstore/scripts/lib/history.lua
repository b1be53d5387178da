-- history: what …:last and …:history keep of a schedule: how it went last, and the attempts that ended last.
-- needs: strings clock definition

-- An entry of …:last is "<creation> <keep> <unfinished> <failures> <outcome> <planned> <ended>": when the schedule was created; of how many
-- attempts …:history tells; how many occurrences were taken and have not ended, with manual runs and deaths (see the piece manual); how many attempts failed in a row; how the last attempt
-- ended, the first two letters of the word (-: none has), the planned instant of its occurrence and when it ended, both in Unix ms.
--
-- An entry of …:history is "<how many attempts> <bytes of their notes> " and then each attempt, the oldest first:
-- "<its bytes>,<bytes of its note>:" and nine texts separated by tabs: how it ended, two letters, and behind them, of a manual run, the rest of
-- its ID, and of a death "!", its job name and the rest of its ID; planned instant, Unix s; from there to when it
-- started, ms; from there to when it ended, ms; number of the attempt, 0: there was none; its fence less the µs of its start; worker; error; note.
--
-- Where a schedule has no entry in …:last nothing is kept of it, nor of an occurrence of an earlier schedule of its name: what was removed
-- leaves nothing.

-- read_past reads the entries of schedules in the hash last. Returns the table that the other functions get.
local function read_past(last, names)
  local past = { texts = {}, known = {}, changed = {}, added = {} }
  if #names == 0 then return past end
  for i, text in ipairs(redis.call('HMGET', last, unpack(names))) do past.texts[names[i]] = text end
  return past
end

-- add_unfinished notes that an occurrence was taken for the first time, 1, or has ended, -1; 0: neither. Returns what is known of its schedule;
-- false: nothing is to be kept of it.
local function add_unfinished(past, name, planned, n)
  local known = past.known[name]
  if known == nil then
    local created, keep, unfinished, failures, outcome, at, ended = match(past.texts[name] or '', '^(%S+) (%d+) (%d+) (%d+) (%S+) (%d+) (%-?%d+)$')
    known = created and { created = created, keep = tonumber(keep), unfinished = tonumber(unfinished), failures = tonumber(failures),
      outcome = outcome, at = at, ended = ended } or false
    past.known[name] = known
  end
  if not known or created_later(known.created, planned) then return false end
  if n ~= 0 then known.unfinished, past.changed[name] = math.max(known.unfinished + n, 0), true end
  return known
end

-- add_run notes how an attempt ended: run is "<outcome>|<started>|<ended>", Unix ms, and of an attempt that was one
-- "|<number>|<fence>|<worker>|<error>\t<note>" behind it. which: what an entry of …:history has behind the outcome; nil: nothing. How a schedule
-- went last a manual run says too, a death does not.
local function add_run(past, name, planned, run, which)
  local known = add_unfinished(past, name, planned, 0)
  if not known then return end
  local outcome, started, ended, about = match(run, '^(%a+)|(%-?%d+)|(%-?%d+)(.*)$')
  local attempt, fence, worker, problem, note = match(about or '', '^|(%d+)|(%d+)|([^|]*)|([^\t]*)\t(.*)$')
  if not outcome then return end
  local year, month, day, hour, minute, second = match(planned, '^(%d+)-(%d+)-(%d+)T(%d+):(%d+):(%d+)')
  year, month = tonumber(year), tonumber(month)
  if month <= 2 then year, month = year - 1, month + 12 end -- a year begins in March
  local days = 365 * year + math.floor(year / 4) - math.floor(year / 100) + math.floor(year / 400) + math.floor((153 * month - 457) / 5) + day - 719469
  local planned_s = days * 86400 + hour * 3600 + minute * 60 + second
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
end

-- save_last writes to the hash last what has changed of it, but for manual runs.
local function save_last(past, last)
  local lasts = {}
  for name in pairs(past.changed) do
    local known = past.known[name]
    lasts[#lasts + 1] = name
    lasts[#lasts + 1] = table.concat({ known.created, known.keep, known.unfinished, known.failures, known.outcome, known.at, known.ended }, ' ')
  end
  if #lasts > 0 then redis.call('HSET', last, unpack(lasts)) end
end

-- save_past writes what has changed. last, history: the keys.
local function save_past(past, last, history)
  local MAX_NOTES = 65536 -- bytes of a schedule's notes; where they are more, the oldest go until a quarter is free
  local names, histories = {}, {}
  save_last(past, last)
  for name in pairs(past.added) do names[#names + 1] = name end
  if #names == 0 then return end
  -- read after write: whose attempts have ended is known only now
  for i, text in ipairs(redis.call('HMGET', history, unpack(names))) do
    local count, notes, at = match(text or '', '^(%d+) (%d+) ()')
    count, notes = tonumber(count or 0), tonumber(notes or 0)
    local parts, keep = { at and sub(text, at) or '' }, past.known[names[i]].keep
    for _, run in ipairs(past.added[names[i]]) do
      count, notes = count + 1, notes + run.note
      parts[#parts + 1] = #run.text .. ',' .. run.note .. ':' .. run.text
    end
    -- the oldest go, then notes of the oldest that stay; what a hand has changed begins anew
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
    histories[2 * i - 1], histories[2 * i] = names[i], whole(count) .. ' ' .. whole(notes) .. ' ' .. table.concat(short) .. sub(runs, first)
  end
  redis.call('HSET', history, unpack(histories))
end
