-- clock: the server's time, read once in each script. now_us and now_ms are Unix microseconds and milliseconds, rounded down, so
-- that nothing is due before its instant; now_s are Unix seconds.
local time = redis.call('TIME')
local now_s = tonumber(time[1])
-- Before 2000 and after 2199 the clock is wrong, and its microseconds have more digits than a number keeps: scripts refuse to work.
if now_s < 946684800 or now_s >= 7258118400 then
  return redis.error_reply('CHIMECLOCK the server says that it is ' .. time[1] .. ' s after 1970: set its clock')
end
local now_us = now_s * 1000000 + tonumber(time[2])
local now_ms = math.floor(now_us / 1000)

-- whole formats the number n, of up to 53 bits, without losing digits.
local function whole(n)
  return string.format('%d', n)
end
