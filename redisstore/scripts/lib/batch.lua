-- batch: the record of a batch at its home.

-- The home of a batch is a partition that belongs to no queue. The record is a hash of its own, with the fields below. Numbers are Unix ms if not said.
--
--   spec, keep, keepdead, flags   what it was created with; flags: d Done, e Ended follows, w Done follows also if members were cancelled
--   state       open, running, ended, done, cancelled           rev   grows with each change of the record
--   made, sealed, ended, done     when; absent: not yet         sealing   somebody seals it
--   position, hash                the last item that was noted, and the hash of all items up to there
--   p:<queue>/<index>             the last report of a partition: "<version> <added> <done> <dead> <cancelled> <away> <existing> <1: it takes no items>
--                               <partitions to which members were carried, a comma before each, or ->"
--   g:<token>                     "<when> <queue>/<index>": a job that is about to be added by a handler of a member
--
--   open ──seal──► running ──all have ended──► ended ◄─► done: dead members were requeued, and are done
--     └──────────────┴───────cancel───────► cancelled, and ended is set when all have ended
--
--   A: a report is absolute, and one with a lower version than the present one changes nothing. So late and repeated reports are harmless.
--   B: what follows is added by end_batch.lua only, and only if each partition was asked again after all reports had said that no member is left, and none
--      has changed since. Then at the instant of the last of these reports no member was left in any partition, nor on its way (see lib/members.lua).
--   C: a partition has a field p: before it gets a member, and a job that a handler adds has a field g: before it is added: neither can be missed. Jobs that
--      follow members in other partitions are the exception: the source names these partitions in the report that does not count the jobs any more.
--   D: an open batch is sealed after each of its partitions has answered that it takes no items any more.

-- read_record returns the fields of a record; nil: there is none.
local function read_record(batch)
  local all, record = redis.call('HGETALL', batch), {}
  for i = 1, #all, 2 do record[all[i]] = all[i + 1] end
  return record.state and record or nil, all
end

local UNKNOWN = '0 0 0 0 0 0 0 0 -' -- a partition that has not reported yet

-- apply_report stores the report of a partition, a text as above, in the record and in changes, unless it has a lower version or is the same. A partition that the
-- record does not have is added, and so are those that the report names. It returns whether it has changed anything, and whether the version was not lower.
local function apply_report(record, changes, path, text)
  local field, changed = 'p:' .. path, false
  local new, old = tonumber(string.match(text, '^%d+') or 0), tonumber(string.match(record[field] or '', '^%d+') or -1)
  if new < old then return false, false end
  if text ~= record[field] then record[field], changes[#changes + 1], changes[#changes + 2], changed = text, field, text, true end
  for target in string.gmatch(string.match(text, '%S+$'), '[^,]+') do
    local other = 'p:' .. target
    if target ~= '-' and not record[other] then
      record[other], changes[#changes + 1], changes[#changes + 2], changed = UNKNOWN, other, UNKNOWN, true
    end
  end
  return changed, true
end

-- sums_of returns the sums over all partitions: left, dead, cancelled; then whether all partitions are closed, and whether growth is pending.
local function sums_of(record)
  local left, dead, cancelled, closed, grows = 0, 0, 0, true, false
  for field, text in pairs(record) do
    local kind = string.sub(field, 1, 2)
    if kind == 'p:' then
      local added, done, died, ended, away, shut = string.match(text, '^%d+ (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) (%-?%d+) %-?%d+ (%d) %S+$')
      left = left + (added or 0) + (away or 0) - (done or 0) - (died or 0) - (ended or 0)
      dead, cancelled = dead + (died or 0), cancelled + (ended or 0)
      closed = closed and shut == '1'
    end
    grows = grows or kind == 'g:'
  end
  return left, dead, cancelled, closed, grows
end
