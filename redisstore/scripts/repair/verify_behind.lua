-- verify_behind.lua: list the schedules that have occurrences waiting behind another one although none holds the schedule, so that they would
-- never continue; and repair them if requested.
-- KEYS[1] …:open       hash  schedule -> see lib/open.lua
-- KEYS[2] …:behind     zset  "<schedule>\t<planned instant>" -> 0: occurrences behind the one in open
-- KEYS[3] …:schedules  hash  schedule -> definition
-- KEYS[4] …:cursors    hash  schedule -> cursor
-- KEYS[5] …:ready      list  IDs of jobs to run now
-- KEYS[6] …:idle       zset  sleeping worker -> instant it went to sleep, Unix ms
-- KEYS[7] …:state      hash  layout
-- ARGV[1] look: ARGV[2] is the last member that was read (empty: begin); repair: ARGV[2] is the prefix of the wake-up channels, ARGV[3...]
-- are the schedules
-- Returns the last member that this call has read (empty: there are no more); how many it has read; the schedules.
local OPEN, BEHIND, SCHEDULES, CURSORS, READY, IDLE, STATE = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6], KEYS[7]
-- uses: limits clock layout strings definition open flight gate wake
local refusal = newer(redis.call('HGET', STATE, 'layout'))
if refusal then return refusal end
local names, last, looked = {}, '', 0
if ARGV[1] == 'look' then
  local from = ARGV[2] == '' and '-' or '(' .. ARGV[2]
  local members = redis.call('ZRANGEBYLEX', BEHIND, from, '+', 'LIMIT', '0', whole(MAX_ITEMS))
  looked = #members
  if looked == MAX_ITEMS then last = members[looked] end
  for _, member in ipairs(members) do
    local name = match(member, '^(.*)\t') or member
    if names[#names] ~= name then names[#names + 1] = name end
  end
else
  for i = 3, #ARGV do names[#names + 1] = ARGV[i] end
end
local answer = { last, looked }
if #names == 0 then return answer end
local flights, front = read_flights(OPEN, BEHIND, SCHEDULES, CURSORS, names, {}), {}
local overlaps = redis.call('HMGET', SCHEDULES, unpack(names))
redis.call('LLEN', READY)
redis.call('ZCARD', IDLE)
for i, name in ipairs(names) do
  local list = flights.behind[name]
  if list and #list > 0 and not is_held(flights.opens[name]) then
    answer[#answer + 1] = name
    local _, _, overlap = policy(overlaps[i])
    hold_next(flights, front, name, sub(overlap or 'wait', 1, 1), '')
  end
end
if ARGV[1] == 'look' or #front == 0 then return answer end
save_flights(flights, OPEN, BEHIND)
push_front(READY, front)
wake_one(IDLE, ARGV[2])
return answer
