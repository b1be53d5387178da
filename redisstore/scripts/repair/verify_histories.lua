-- verify_histories.lua: list the fields of …:history, a page at a time, or remove fields that belong to no schedule.
-- KEYS[1] …:history  hash  schedule -> head of its last attempts, and fields with these: see lib/history.lua
-- KEYS[2] …:state    hash  layout
-- ARGV[1] the position in the hash, as the last call answered; 0 begins; empty: no page is read, and ARGV[3...] are the fields to judge, each with
-- the schedule whose head has its short (empty: no head has it); ARGV[2] 1: fields that are not in the range of that head are removed
-- Returns the new position, 0 at the end; how many fields it has read; for a page each field and its text, which is empty if the field is no head;
-- for judged fields those that belong to no schedule.
local HISTORY, at = KEYS[1], ARGV[1]
-- uses: layout histories
local refusal = newer(redis.call('HGET', KEYS[2], 'layout'))
if refusal then return refusal end
local list = {}
if at ~= '' then
  local page = redis.call('HSCAN', HISTORY, at, 'COUNT', 50)
  for i = 1, #page[2], 2 do
    local field = page[2][i]
    list[i], list[i + 1] = field, string.find(field, '\t', 1, true) and '' or string.sub(page[2][i + 1], 1, 200)
  end
  return { page[1], #page[2] / 2, list }
end
for i = 3, #ARGV, 2 do
  local short, first, last = string.match(ARGV[i + 1] ~= '' and redis.call('HGET', HISTORY, ARGV[i + 1]) or '', '^=(%w+) (%d+) (%d+) ')
  local own, n = string.match(ARGV[i], '^(%w+)\t(%d+)$')
  local belongs = short and own == short and tonumber(n) >= tonumber(first) and tonumber(n) <= tonumber(last)
  if not belongs and redis.call('HEXISTS', HISTORY, ARGV[i]) == 1 then list[#list + 1] = ARGV[i] end
end
if ARGV[2] == '1' then remove_fields(HISTORY, list) end
return { '0', #list, list }
