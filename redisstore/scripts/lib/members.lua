-- members: how many members of each batch a partition has, and how they have ended.
-- Model: CLOSED in models/unknown.pml, ENDMEMBER in models/batch.pml.
-- needs: clock

-- A member is a job whose envelope has the detail b, the ID of its batch. It is left until it is done, dead or cancelled; an expired one counts as dead,
-- a deleted one as cancelled. A dead one that is requeued is left again.
--
-- batches      batch -> "<version> <added> <done> <dead> <cancelled> <away> <existing> <position> <flags> <Unix ms> <to>": the counts, see below; the version
--              grows with each change; position: of the last item of the batch that was taken; flags: - none, c no item is taken any more, x nothing is
--              added any more, e it has ended; when its counts were reported last; to: the partitions to which members were carried, a comma before each, or -
-- reports      batch -> instant from which its counts are to be reported, Unix ms: soon if its home does not have them, else again, see batches/ack_reports.lua
-- state, field batches   the score of the first of these, 0: none. Absent: the partition has no entry in batches, and scripts read no envelope for it
-- state, field revoked   how many batches have the flag x and members left here. Absent: none, and takes read no envelope for it
--   A: the counts of an entry change in the script that adds or ends the members, with the version, and then the batch is in reports.
--   B: added + away - done - dead - cancelled members are left. away: jobs in the outbox that are members as soon as they are added elsewhere; the source
--      counts them until it notes that the target has them, and the target counts them in added. So a member is always counted, for a moment twice. In the
--      step in which the source ceases to count one, it notes the target in to, and its reports name it: so the home asks that partition too.
--      x is there from the cancellation on: a member that is held then does not come back, see work/settlements.lua, and a take that finds one ends it as
--      cancelled, see the piece revoked.
--   C: without an entry nothing is counted: the batch has been forgotten. Only what is added makes an entry.
local REPORT_MS = 1000 -- counts are reported at most so often, unless no member is left

-- counts_of parses an entry; without one all is 0, and absent is true.
local function counts_of(text)
  local version, added, done, dead, cancelled, away, existing, position, flags, told, to =
    string.match(text or '', '^(%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%d+) (%d+) ([-cxe]+) (%d+) (%S+)$')
  return { version = tonumber(version or 0), added = tonumber(added or 0), done = tonumber(done or 0), dead = tonumber(dead or 0),
    cancelled = tonumber(cancelled or 0), away = tonumber(away or 0), existing = tonumber(existing or 0), position = tonumber(position or 0),
    flags = flags or '-', told = tonumber(told or 0), to = to or '-', absent = not version }
end

-- counts_text formats an entry.
local function counts_text(c)
  return string.format('%d %d %d %d %d %d %d %d %s %d %s', c.version, c.added, c.done, c.dead, c.cancelled, c.away, c.existing, c.position, c.flags, c.told, c.to)
end

-- members_left returns how many members are left.
local function members_left(c)
  return c.added + c.away - c.done - c.dead - c.cancelled
end

local WIDTHS = { [0xc4] = 1, [0xc5] = 2, [0xc6] = 4, [0xd9] = 1, [0xda] = 2, [0xdb] = 4 } -- how many bytes the length of a text or a binary has

-- text_at returns where the text at a position of an envelope begins, nil: none is there, and where what is there ends; nothing: another type is there.
local function text_at(body, at)
  local kind = string.byte(body, at)
  if not kind then return nil end
  if kind >= 0xa0 and kind < 0xc0 then return at + 1, at + kind - 0x9f end
  local width, length = WIDTHS[kind], 0
  if width then
    for i = 1, width do length = 256 * length + (string.byte(body, at + i) or 0) end
    return at + 1 + width, at + 1 + width + length
  end
  if kind < 0x80 or kind >= 0xe0 or kind == 0xc0 then return nil, at + 1 end
  if kind >= 0xcc and kind <= 0xd3 then return nil, at + 1 + 2 ^ (kind % 4) end
end

-- batch_in returns the batch of the job that has this envelope; nil: none. The details are the tenth element of the array, a binary that begins with
-- a map, and the keys of the map are sorted: only a, which is true or false, comes before b.
local function batch_in(body)
  local byte, sub = string.byte, string.sub
  local version, fields, at = byte(body, 1), (byte(body, 2) or 0) - 0x90, 3
  if not (version == 1 or version == 2 or version == 17 or version == 18) or fields < 10 or fields > 15 then return nil end
  for _ = 1, 9 do
    local _, behind = text_at(body, at)
    if not behind then return nil end
    at = behind
  end
  local first = text_at(body, at)
  local kind = first and byte(body, first)
  if not kind or (kind < 0x81 or kind > 0x8f) and kind ~= 0xde then return nil end
  at = first + (kind == 0xde and 3 or 1)
  if sub(body, at, at + 1) == '\161a' then at = at + 3 end
  if sub(body, at, at + 1) ~= '\161b' then return nil end
  local from, behind = text_at(body, at + 2)
  return from and behind <= #body + 1 and sub(body, from, behind - 1) or nil
end

-- count_member adds n to a count of a batch in the table counts: added, done, dead, cancelled, away or existing.
local function count_member(counts, batch, what, n)
  local of = counts[batch] or {}
  of[what], counts[batch] = (of[what] or 0) + n, of
end

-- note_target notes in the table counts that members of a batch were carried to a partition, "<queue>/<index>".
local function note_target(counts, batch, path)
  local of = counts[batch] or {}
  of.to, counts[batch] = path, of
end

-- count_bodies counts the jobs that have these envelopes as what, n for each, 1 if it is nil; an envelope may be false.
local function count_bodies(counts, bodies, what, n)
  for _, body in pairs(bodies) do
    local batch = body and batch_in(body)
    if batch then count_member(counts, batch, what, n or 1) end
  end
end

-- check_members reads the keys, so that one of a wrong type stops the call here.
local function check_members(batches, reports)
  redis.call('HLEN', batches)
  redis.call('ZCARD', reports)
end

-- report_at returns the instant from which they are to be reported. due: the one that is noted
-- already; false: none.
local function report_at(c, due)
  if members_left(c) <= 0 then return now_ms end
  return math.min(due and tonumber(due) or now_ms + REPORT_MS, now_ms + REPORT_MS, math.max(c.told + REPORT_MS, now_ms))
end

-- is_revoked reports whether takes end the members of a batch in this partition: it is cancelled, and members are left.
local function is_revoked(c)
  return string.find(c.flags, 'x', 1, true) and members_left(c) > c.away
end

-- save_revoked adds n to the number of batches whose members takes end. least: it is at least that. state: the key.
local function save_revoked(state, n, least)
  -- read after write: only few calls change it
  local before = tonumber(redis.call('HGET', state, 'revoked') or 0) or 0
  local now = math.max(before + n, least)
  if now > 0 and now ~= before then redis.call('HSET', state, 'revoked', whole(now)) end
  if now <= 0 then redis.call('HDEL', state, 'revoked') end
end

-- save_head writes when the next report is due into state, and returns it, 0: none is. batches, reports, state: the keys.
local function save_head(batches, reports, state)
  -- read after write: the first one is known only now
  local first = redis.call('ZRANGE', reports, '0', '0', 'WITHSCORES')[2]
  -- read after write: likewise
  if first or redis.call('HLEN', batches) > 0 then
    redis.call('HSET', state, 'batches', first or '0')
  else
    redis.call('HDEL', state, 'batches', 'revoked')
  end
  return tonumber(first or 0)
end

-- save_members writes the counts that count_member has collected, and returns when the next report is due, Unix ms; 0: none is. batches, reports, state:
-- the keys. check_members was called before.
local function save_members(counts, batches, reports, state)
  local names, entries, scores, revoked = {}, {}, {}, 0
  for name in pairs(counts) do names[#names + 1] = name end
  if #names > 0 then
    -- read after write: the scripts have many places where members end
    local texts = redis.call('HMGET', batches, unpack(names))
    -- read after write: likewise
    local due = redis.call('ZMSCORE', reports, unpack(names))
    for i, name in ipairs(names) do
      local c, of = counts_of(texts[i]), counts[name]
      if not c.absent or of.added or of.away and of.away > 0 then
        if is_revoked(c) then revoked = revoked - 1 end
        for what, n in pairs(of) do
          if what == 'to' then
            if not string.find(c.to .. ',', ',' .. n .. ',', 1, true) then c.to = (c.to == '-' and '' or c.to) .. ',' .. n end
          else
            c[what] = c[what] + n
          end
        end
        if is_revoked(c) then revoked = revoked + 1 end
        c.version = math.max(c.version + 1, now_us)
        entries[#entries + 1], entries[#entries + 2] = name, counts_text(c)
        scores[#scores + 1], scores[#scores + 2] = whole(report_at(c, due[i])), name
      end
    end
  end
  if #entries == 0 then return save_head(batches, reports, state) end
  redis.call('HSET', batches, unpack(entries))
  redis.call('ZADD', reports, unpack(scores))
  if revoked ~= 0 then save_revoked(state, revoked, 0) end
  return save_head(batches, reports, state)
end
