-- rights.lua: try commands as the user of the connection. It is run by EVAL_RO, where a server checks the user's rights and then
-- refuses every command that writes: nothing is changed. It is not a script of the protocol: its commands are data.
-- KEYS of one slot
-- ARGV one value for each try: the position of the key in KEYS, 0 for none, and a command with its arguments, separated by spaces. An
-- argument that is - is empty
-- Returns for each try the missing right of the user: command, key or channel; empty: nothing is missing.
local function missing(reply)
  local text = type(reply) == 'table' and reply.err or ''
  if string.find(text, "can't run this command", 1, true) or string.find(text, 'permissions to run', 1, true) then return 'command' end
  if not string.find(text, "can't access", 1, true) and not string.find(text, "can't publish", 1, true)
    and not string.find(text, 'permissions to access', 1, true) then
    return ''
  end
  return string.find(text, 'channel', 1, true) and 'channel' or 'key'
end

-- A server that executes a write here is not used for the trial.
if type(redis.pcall('ZREM', KEYS[1], '')) == 'number' then return redis.error_reply('ERR EVAL_RO writes') end
local answer = {}
for i, try in ipairs(ARGV) do
  local words = {}
  for word in string.gmatch(try, '%S+') do words[#words + 1] = word == '-' and '' or word end
  local key = KEYS[tonumber(table.remove(words, 1))]
  if key then table.insert(words, 2, key) end
  answer[i] = missing(redis.pcall(unpack(words)))
end
return answer
