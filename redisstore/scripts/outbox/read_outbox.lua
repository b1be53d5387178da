-- read_outbox.lua: return the lines of an outbox, at most 100, and the targets that have entries which were carried and are not confirmed, likewise.
-- KEYS[1] …:state      hash  layout
-- KEYS[2] …:outbox     zset  entries that wait, see lib/outbox.lua
-- KEYS[3] …:delivered  zset  those that were carried
-- KEYS[4] …:carried    hash  "!<line>" -> why it is blocked, see block_outbox.lua
-- ARGV[1] the line after which it begins; empty: the first
-- Returns the line after which the next call begins, empty: there are no more; lines, five values each: the line, when the job before its first
-- entry ended, Unix ms, how many entries it has, if it is not addressed its first members without the line, at most 500 of all lines, else 0, and why it is
-- blocked (empty: that is not known); the targets.
local OUTBOX, DELIVERED, CARRIED = KEYS[2], KEYS[3], KEYS[4]
local MAX_LINES = 100
-- uses: limits layout strings
local refusal = newer(redis.call('HGET', KEYS[1], 'layout'))
if refusal then return refusal end

-- lines_of returns the first members of the lines of a sorted set, and whether there are more.
local function lines_of(key)
  local firsts, after = {}, ARGV[1] == '' and '-' or '[' .. ARGV[1] .. '\n'
  while #firsts <= MAX_LINES do
    local member = redis.call('ZRANGEBYLEX', key, after, '+', 'LIMIT', '0', '1')[1]
    if not member then return firsts, false end
    firsts[#firsts + 1], after = member, '[' .. match(member, '^[^\t]*') .. '\n'
  end
  firsts[#firsts] = nil
  return firsts, true
end

local waiting, more = lines_of(OUTBOX)
local carried, more_carried = lines_of(DELIVERED)
local lines, targets, after, left = {}, {}, '', MAX_ITEMS
for i, member in ipairs(carried) do targets[i] = match(member, '^[^\t]*') end
if more then after = match(waiting[#waiting], '^[^\t]*') end
if more_carried and (after == '' or targets[#targets] < after) then after = targets[#targets] end
for _, member in ipairs(waiting) do
  local line, ended = match(member, '^([^\t]*)\t%d+\t(%d+) ')
  if line and (after == '' or line <= after) then -- the next call returns the others
    local n, members = #lines, 0
    if not find(line, '/', 1, true) and left > 0 then
      members = redis.call('ZRANGEBYLEX', OUTBOX, '[' .. line .. '\t', '(' .. line .. '\n', 'LIMIT', '0', string.format('%d', left))
      left = left - #members
      for i = 1, #members do members[i] = sub(members[i], #line + 2) end
    end
    lines[n + 1], lines[n + 2], lines[n + 4] = line, ended, members
    lines[n + 5] = redis.call('HGET', CARRIED, '!' .. line) or ''
    lines[n + 3] = redis.call('ZLEXCOUNT', OUTBOX, '[' .. line .. '\t', '(' .. line .. '\n')
  end
end
return { after, lines, targets }
