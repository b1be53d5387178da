-- count_members.lua: count the members of batches in a page of the jobs of a partition, without dead ones.
-- KEYS[1] …:jobs  hash  job ID -> envelope
-- KEYS[2] …:dead  zset  job ID -> instant of its death, Unix ms
-- ARGV[1] the position in jobs, as the last call answered; 0 begins
-- Returns the new position, 0 at the end; two values for each batch: its ID, how many members.
local JOBS, DEAD = KEYS[1], KEYS[2]
-- uses: clock members
local page, found, n_of = redis.call('HSCAN', JOBS, ARGV[1], 'COUNT', '100'), {}, {}
for i = 1, #page[2], 2 do
  local batch = batch_in(page[2][i + 1])
  if batch then found[page[2][i]] = batch end
end
for id, batch in pairs(found) do
  if not redis.call('ZSCORE', DEAD, id) then n_of[batch] = (n_of[batch] or 0) + 1 end
end
local answer = { page[1] }
for batch, n in pairs(n_of) do
  answer[#answer + 1] = batch
  answer[#answer + 1] = n
end
return answer
