-- count_flights.lua: count the jobs that sessions hold, and those among them that were taken ahead and have not begun. It writes nothing.
-- KEYS[1...] …:inflight:<session>  hash  job ID -> fence, with - in front while the job has not begun; and the field of the piece session
-- ARGV[1] how many fields of the hashes are read at most
-- Returns for each session its number of jobs, then how many of them have not begun; -1: they were not read, because there are too many.
local left, answer = tonumber(ARGV[1]), {}
for i = 1, #KEYS do
  local fields, ahead = redis.call('HLEN', KEYS[i]), -1
  if fields <= left then
    left, ahead = left - fields, 0
    local held = redis.call('HGETALL', KEYS[i])
    for at = 2, #held, 2 do
      if string.find(held[at], '^%-%d+$') then ahead = ahead + 1 end
    end
  end
  answer[2 * i - 1], answer[2 * i] = math.max(fields - 1, 0), ahead
end
return answer
