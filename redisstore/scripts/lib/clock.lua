-- clock: the server's time, read once a script. now_us and now_ms are Unix microseconds and milliseconds, rounded down, so
-- that nothing is due before its instant; now_s are Unix seconds.
local time = redis.call('TIME')
local now_s = tonumber(time[1])
local now_us = now_s * 1000000 + tonumber(time[2])
local now_ms = math.floor(now_us / 1000)

-- whole formats the number n, of up to 53 bits, without losing digits.
local function whole(n)
  return string.format('%d', n)
end
