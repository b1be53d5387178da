-- outbox: jobs that leave a partition, the source, for other ones, their targets, until the targets have them.
-- needs: clock

-- An entry is a member "<line>\t<number, 16 digits>\t<when the job before it ended, Unix ms> <bytes of its value>\t<ID>" of one of two sorted sets:
-- outbox (it waits) or delivered (it was carried). Its value is in the hash outgoing under "<queue>\t<ID>". Its line is "<queue>" until the index of its target
-- partition is known, then "<queue>/<index>". All scores are 0, so each line is a range of its own, in the order of the numbers.
--
--   held ─work, bury─► outbox, "<queue>" ─address─► outbox, "<queue>/<index>" ─advance─► delivered ─advance, a minute later─► gone
--                                                      │ ▲ ▲                              │
--                                 new number: advance,   └─┘ └────────── same number: advance, ┘
--                           if the source went back        if the target went back
--
-- A target has a mark for each source: number and ID of the entry that was carried last, or "@" and Unix us, a token, if there is none. carry.lua adds
-- entries only if the call continues that mark: it names it, or contains its entry. advance_outbox.lua moves entries to delivered only by a mark that the source knows.
--   A: a target adds an entry once, however often, late or disordered calls come: afterwards its mark has changed.
--   B: an entry is in exactly one of outbox and delivered, and has a value.
--   C: the numbers of a line are drawn in ascending order, at addressing, above the highest that was noted for the target. So the waiting entries
--      below a known mark were in calls that the target has carried out.
--   D: only a source that went back, or a target that has lost the mark, adds an entry twice. Only a target that goes back by more than a minute loses one.
--
-- state, field outbox   "<last number> <waiting entries> <bytes of these> <instant of the oldest, Unix ms; 0: none> <bytes of the delivered ones>". Absent: the
--                       partition has had no entry
-- carried               target -> "<high> <gone> <n> <Unix ms>\t<mark>": the highest number noted, the highest one removed, a number that waits for its confirmation and
--                       when it was noted, the target's mark
-- inbox                 source, always "<queue>/<index>" -> "<mark>\t<when it was written, Unix us>"
-- a value               "j<due, Unix ms; 0: at once> <#group> <#note> <#batch> <group><note><batch><envelope>". A target that does not know the letter, or
--                       a note or a batch, does not take the entry. If the job is a member of a batch as soon as it is added, outgoing also has
--                       "<queue>\t<ID>\tb" -> that batch: the source counts such a job while it waits, see lib/members.lua
local MAX_WAITING, MAX_WAITING_BYTES = 100000, 268435456 -- then no job of the partition is taken
local OWED_MS = 1000 -- an entry that is older is named in the answer of each call

-- sum_of returns a number of state.outbox; nil: it cannot be one.
local function sum_of(text)
  local n = text and tonumber(text)
  return n and n < 9e15 and n or nil
end

-- read_outbox parses the field outbox of state. box.odd: it cannot be read.
local function read_outbox(text)
  local sent, waiting, bytes, since, kept = string.match(text or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  local box = { sent = sum_of(sent), waiting = sum_of(waiting), bytes = sum_of(bytes), since = sum_of(since), kept = sum_of(kept) }
  box.odd = text and not (box.sent and box.waiting and box.bytes and box.since and box.kept) or false
  box.sent, box.waiting, box.bytes, box.since, box.kept = box.sent or 0, box.waiting or 0, box.bytes or 0, box.since or 0, box.kept or 0
  return box
end

-- outbox_text formats the field.
local function outbox_text(box)
  return string.format('%d %d %d %d %d', box.sent, math.max(box.waiting, 0), math.max(box.bytes, 0), box.since, math.max(box.kept, 0))
end

-- draw_number draws a number, higher than all before and than above.
local function draw_number(box, above)
  box.sent = math.max(box.sent + 1, now_us, above + 1)
  return string.format('%016d', box.sent)
end

-- add_waiting_entry counts an entry that begins to wait; ended: when the job before it ended, Unix ms.
local function add_waiting_entry(box, bytes, ended)
  box.waiting, box.bytes = box.waiting + 1, box.bytes + bytes
  if box.since == 0 or ended < box.since then box.since = ended end
end

-- is_full reports whether the partition must not take another job; part: of the bounds, 1 or less.
local function is_full(box, part)
  return box.waiting >= MAX_WAITING * part or box.bytes >= MAX_WAITING_BYTES * part
end

-- owes returns what a caller learns: 1, entries are to be carried; plus 2, the outbox is full. added: this call has added some.
local function owes(box, added)
  if box.waiting == 0 then return 0 end
  local old = box.since > now_ms or box.since <= now_ms - OWED_MS -- in the future: the clock stepped back
  return ((added or old) and 1 or 0) + (is_full(box, 1) and 2 or 0)
end

-- entry_of splits a member: line, number, when the job before it ended, bytes, ID. Nothing: it is no entry.
local function entry_of(member)
  local line, number, ended, bytes, id = string.match(member, '^([^\t]*)\t(%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d)\t(%d+) (%d+)\t(.*)$')
  return line, number, tonumber(ended), tonumber(bytes), id
end

-- queue_of returns the queue of a line.
local function queue_of(line)
  return string.match(line, '^([^/]*)')
end

-- pack_job returns the value of a job.
local function pack_job(due_ms, group, note, batch, envelope)
  return string.format('j%d %d %d %d ', due_ms, #group, #note, #batch) .. group .. note .. batch .. envelope
end

-- save_sent adds jobs, tables with id, queue, in_ms, group and batch (nil: none) and body, to the outbox. Their lines are not addressed: the partitions of other queues
-- are not known here. outbox, outgoing, state: the keys.
local function save_sent(box, jobs, outbox, outgoing, state)
  local members, values = {}, {}
  for i, job in ipairs(jobs) do
    local due_ms = job.in_ms > 0 and math.ceil((now_us + job.in_ms * 1000) / 1000) or 0
    local value = pack_job(due_ms, job.group or '', '', job.batch or '', job.body)
    members[2 * i - 1], members[2 * i] = '0', job.queue .. '\t' .. draw_number(box, 0) .. '\t' .. whole(now_ms) .. ' ' .. #value .. '\t' .. job.id
    values[#values + 1], values[#values + 2] = job.queue .. '\t' .. job.id, value
    if job.batch then values[#values + 1], values[#values + 2] = job.queue .. '\t' .. job.id .. '\tb', job.batch end
    add_waiting_entry(box, #value, now_ms)
  end
  redis.call('ZADD', outbox, unpack(members))
  redis.call('HSET', outgoing, unpack(values))
  redis.call('HSET', state, 'outbox', outbox_text(box))
end

-- unpack_job returns the parts of such a value: due_ms, group, note, batch, envelope. Nothing: this version does not know it.
local function unpack_job(value)
  local due_ms, group, note, batch, at = string.match(value, '^j(%d+) (%d+) (%d+) (%d+) ()')
  if not due_ms then return nil end
  local texts = {}
  for i, length in ipairs({ group, note, batch }) do
    texts[i] = string.sub(value, at, at + length - 1)
    at = at + length
  end
  return tonumber(due_ms), texts[1], texts[2], texts[3], string.sub(value, at)
end

-- is_readable reports whether this version can read such a value, or a newer one may: that begins with another letter.
local function is_readable(value)
  if string.byte(value) ~= 106 then return string.find(value, '^%a%d') ~= nil end -- j
  local due_ms, group, note, batch, at = string.match(value, '^j(%d+) (%d+) (%d+) (%d+) ()')
  return due_ms ~= nil and at + tonumber(group) + tonumber(note) + tonumber(batch) <= #value
end
